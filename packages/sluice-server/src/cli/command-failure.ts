/** Thrown if a command was called correctly but cannot do its work. The CLI prints only the message and exits with code 1. */
export class CommandFailure extends Error {}
