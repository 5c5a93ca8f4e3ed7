/** sluice serve: starts a server from flags, and stops it on a signal. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readArgs } from './args.ts';
import type { Log } from '../log.ts';
import { startServer } from '../server.ts';
import type { RunningServer } from '../server-options.ts';
import { SERVE_FLAGS } from './serve-flags.ts';
import { millisOf, serverOptions } from './serve-options.ts';

/** Runs until a signal arrives, then drains the server and exits the process. */
export async function serveCommand(argv: readonly string[]): Promise<number> {
  const args = readArgs(argv, SERVE_FLAGS, process.env);
  const options = serverOptions(args, process.env, process.stdout.isTTY === true);
  const [delay, timeout] = [millisOf(args, 'drain-delay') ?? 0, millisOf(args, 'drain-timeout') ?? 10_000];
  // If an address is in use, grpc-js would print its own line, although the error already has that line as its message.
  process.env['GRPC_VERBOSITY'] ??= 'NONE';
  // The signal handlers are installed before the server starts, because an unhandled signal would kill the process.
  const stopRequested = stopSignal(options.log);
  let server: RunningServer | undefined;
  process.on('SIGHUP', () => void server?.reload());
  const starting = startServer(options).then((running) => {
    server = running;
  });
  // Starting can take forever, for example if a database accepts the connection but never answers. After a signal, the process
  // waits for the start only until the drain timeout.
  await Promise.race([starting, stopRequested.then(() => sleep(timeout))]);
  await stopRequested;
  await server?.drain({ delay, timeout });
  await new Promise<void>((written) => process.stdout.write('', () => written()));
  // Exit even if something still keeps the process alive, such as a collector that does not answer.
  return process.exit(0);
}

/** Resolves at the first SIGTERM or SIGINT. At a second signal, the process exits immediately. */
function stopSignal(log: Log): Promise<void> {
  let isStopping = false;
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        log.info('shutting down', { signal });
        if (isStopping) process.exit(1);
        isStopping = true;
        resolve();
      });
    }
  });
}
