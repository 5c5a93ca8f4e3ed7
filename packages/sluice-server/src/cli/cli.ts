/** The `sluice` command. */
import { showFlags } from './args.ts';
import { CHECK_FLAGS, checkCommand, type Output } from './check.ts';
import { ConfigError } from '../config/model.ts';
import { SERVE_FLAGS, serveCommand, tokenOf } from './serve.ts';
import { UsageError } from '../config/usage-error.ts';
import { REPLAY_FLAGS, replayCommand } from './tools/replay.ts';
import { SIMULATE_FLAGS, simulateCommand } from './tools/simulate.ts';
import { TOP_FLAGS, topCommand } from './tools/top.ts';
import { VERSION } from '../version.ts';

const HELP = `sluice ${VERSION}: rate limits for every language

  sluice serve --config limits.yaml     run the server: HTTP, gRPC and RESP
  sluice check limits.yaml              validate a configuration, for CI
  sluice simulate '10/s burst 20'       try a limit on synthetic traffic
  sluice replay access.log --policy …   try a limit on recorded traffic
  sluice top http://127.0.0.1:8080      watch a running server in the terminal

sluice serve
${showFlags(SERVE_FLAGS)}

Each of these flags can also be set by an environment variable, such as SLUICE_MAX_KEY for --max-key.

sluice check
${showFlags(CHECK_FLAGS)}

sluice simulate
${showFlags(SIMULATE_FLAGS)}

sluice replay
${showFlags(REPLAY_FLAGS)}

sluice top
${showFlags(TOP_FLAGS)}
`;

const OUTPUT: Output = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
};

/** Returns the exit code: 0 for success, 1 for failure, 2 for invalid usage. */
export async function main(argv: readonly string[], output: Output = OUTPUT): Promise<number> {
  const [command, ...rest] = argv;
  try {
    if (
      argv.some((word) => word === '--help' || word === '-h') ||
      command === 'help' ||
      command === undefined
    ) {
      output.out(HELP);
      return command === undefined ? 2 : 0;
    }
    if (command === '--version' || command === 'version') {
      output.out(`${VERSION}\n`);
      return 0;
    }
    if (command === 'serve') return await serveCommand(rest);
    if (command === 'check') return checkCommand(rest, output);
    if (command === 'simulate') return simulateCommand(rest, output);
    if (command === 'replay') return await replayCommand(rest, output);
    if (command === 'top') return await topCommand(rest, output, tokenOf);
    throw new UsageError(`unknown command '${command}'`);
  } catch (error) {
    return reportError(error, output);
  }
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
  err(typeof code === 'string' ? `sluice: ${message || String(code)}\n` : `${stack}\n`);
  return 1;
}
