/** Handles output that cannot be written because the disk is full or the reader of a pipe has exited. */

interface Process {
  readonly stdout: NodeJS.EventEmitter;
  readonly stderr: NodeJS.EventEmitter & { write(text: string): unknown };
  exit(code: number): void;
}

/**
 * A server drops log lines that it cannot write and keeps running. It tries again with the next line, so the log resumes when the
 * disk has space. Any other command exits, because it has no purpose without its output. The exit code is 0 if the reader of the
 * pipe has exited, and 1 after any other error.
 */
export function surviveOutputErrors(command: string | undefined, process: Process): void {
  // If writing to standard error fails, the failure cannot be reported anywhere.
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (command === 'serve') return;
    if (error.code === 'EPIPE') return process.exit(0);
    process.stderr.write(`sluice: cannot write to standard output: ${error.message}\n`);
    process.exit(1);
  });
}
