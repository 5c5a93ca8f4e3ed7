/**
 * Thrown if a server or command is started with invalid flags, options or files. The CLI prints only the message, without a stack
 * trace.
 */
export class UsageError extends Error {}
