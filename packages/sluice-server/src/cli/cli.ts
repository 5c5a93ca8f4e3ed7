/** The `sluice` command. */
import { checkCommand, type Output } from './check.ts';
import { completionCommand } from './completion.ts';
import { COMMANDS, helpCommandFor, showCommand, showCommands } from './help.ts';
import { ConfigError } from '../config/model.ts';
import { serveCommand } from './serve.ts';
import { tokenOf } from './token-files.ts';
import { UsageError } from '../config/usage-error.ts';
import { CommandFailure } from './command-failure.ts';
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
    throw unknownCommand(command);
  } catch (error) {
    return reportError(error, output, helpCommandFor(command));
  }
}

/** The help text that the arguments ask for. Undefined if they do not ask for help. */
function helpFor(argv: readonly string[]): string | undefined {
  const [command] = argv;
  const isHelp = argv.some((word) => word === '--help' || word === '-h');
  if (command !== undefined && command !== 'help' && !isHelp) return undefined;
  const name = command === 'help' ? argv[1] : command;
  if (name === undefined || name.startsWith('-') || WITHOUT_HELP.includes(name)) return showCommands();
  if (!Object.hasOwn(COMMANDS, name)) throw unknownCommand(name);
  return showCommand(name, argv.includes('--all'));
}

/** Commands whose help is the list of all commands. */
const WITHOUT_HELP: readonly string[] = ['help', 'version'];

function unknownCommand(name: string | undefined): UsageError {
  return new UsageError(`unknown command '${name}'`);
}

/** Prints an error and returns the exit code. `helpCommand` is the command that shows how to use the command that failed. */
function reportError(error: unknown, { err }: Output, helpCommand: string): number {
  if (error instanceof CommandFailure) {
    err(`sluice: ${error.message}\n`);
    return 1;
  }
  if (error instanceof ConfigError) {
    err(`${error.message}\n`);
    return 1;
  }
  if (error instanceof UsageError) {
    const end = /[.?]$/.test(error.message) ? '' : '.';
    err(`sluice: ${error.message}${end} Run \`${helpCommand}\` for usage.\n`);
    return 2;
  }
  const { message, stack, code } = error as Error & { readonly code?: unknown };
  // A system error such as EADDRINUSE is printed without a stack trace. If the error has no message (AggregateError), its code is
  // printed.
  err(typeof code === 'string' ? `sluice: ${message || String(code)}\n` : `${stack}\n`);
  return 1;
}
