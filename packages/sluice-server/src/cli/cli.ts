/** The `sluice` command. */
import { checkCommand, type Output } from './check.ts';
import { completionCommand } from './completion.ts';
import { COMMANDS, showCommand, showCommands } from './help.ts';
import { ConfigError } from '../config/model.ts';
import { serveCommand } from './serve.ts';
import { tokenOf } from './token-files.ts';
import { UsageError } from '../config/usage-error.ts';
import { replayCommand } from './tools/replay.ts';
import { simulateCommand } from './tools/simulate.ts';
import { topCommand } from './tools/top.ts';
import { VERSION } from '../version.ts';

const OUTPUT: Output = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
};

/** Returns the exit code: 0 for success, 1 for failure, 2 for invalid usage. */
export async function main(argv: readonly string[], output: Output = OUTPUT): Promise<number> {
  const [command, ...rest] = argv;
  try {
    const help = helpFor(argv);
    if (help !== undefined) {
      output.out(help);
      return command === undefined ? 2 : 0;
    }
    if (command === '--version' || command === 'version') {
      output.out(`${VERSION}\n`);
      return 0;
    }
    if (command === 'serve') return await serveCommand(rest);
    if (command === 'check') return await checkCommand(rest, output);
    if (command === 'simulate') return simulateCommand(rest, output);
    if (command === 'replay') return await replayCommand(rest, output);
    if (command === 'top') return await topCommand(rest, output, tokenOf);
    if (command === 'completion') return completionCommand(rest, output);
    throw new UsageError(`unknown command '${command}'`);
  } catch (error) {
    return reportError(error, output);
  }
}

/** The help text that the arguments ask for. Undefined if they do not ask for help. */
function helpFor(argv: readonly string[]): string | undefined {
  const [command] = argv;
  const isHelp = argv.some((word) => word === '--help' || word === '-h');
  if (command !== undefined && command !== 'help' && !isHelp) return undefined;
  const name = command === 'help' ? argv[1] : command;
  return name !== undefined && Object.hasOwn(COMMANDS, name)
    ? showCommand(name, argv.includes('--all'))
    : showCommands();
}

function reportError(error: unknown, { err }: Output): number {
  if (error instanceof ConfigError) {
    err(`${error.message}\n`);
    return 1;
  }
  if (error instanceof UsageError) {
    err(`sluice: ${error.message.replace(/\.$/, '')}. Run \`sluice --help\` for usage.\n`);
    return 2;
  }
  const { message, stack, code } = error as Error & { readonly code?: unknown };
  // A system error such as EADDRINUSE is printed without a stack trace. If the error has no message (AggregateError), its code is
  // printed.
  if (code === 'EADDRINUSE') {
    err(
      `sluice: ${message}. Stop the other process, or choose another address with --http, --grpc or --resp.\n`,
    );
    return 1;
  }
  err(typeof code === 'string' ? `sluice: ${message || String(code)}\n` : `${stack}\n`);
  return 1;
}
