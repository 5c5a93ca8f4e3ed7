/** Standard output and standard error that cannot be written: a full disk, or a pipe whose reader has gone. */

interface Process {
  readonly stdout: NodeJS.EventEmitter;
  readonly stderr: NodeJS.EventEmitter & { write(text: string): unknown };
  exit(code: number): void;
}

/**
 * A server drops what it cannot write and goes on: its log is not worth an outage. Writing is attempted again with the
 * next line, so the log continues when the disk has room. Any other command ends, since its output is all it is for: quietly
 * if nobody reads any more, with exit code 1 if output was lost.
 */
export function surviveOutputErrors(command: string | undefined, process: Process): void {
  // Nothing is left to report an error of standard error to.
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (command === 'serve') return;
    if (error.code === 'EPIPE') return process.exit(0);
    process.stderr.write(`sluice: cannot write to standard output: ${error.message}\n`);
    process.exit(1);
  });
}
