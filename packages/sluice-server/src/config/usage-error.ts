/** Invalid flags, options or files given when the server or a command starts. The CLI prints only its message. */
export class UsageError extends Error {}
