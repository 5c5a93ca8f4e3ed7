/** Runs real Redis servers on free ports for tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The name of the master in the sentinels' configuration. */
export const NAME = 'mymaster';

export interface Server {
  readonly port: number;
  readonly process: ChildProcess;
  /** Stops the server with a signal, and waits until the process has exited. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Range of ports to use. It is below the ephemeral ports of the system, so that a restarted server finds its port free. The bus
 * of a cluster node uses the port that is 10,000 higher.
 */
const [FIRST, COUNT] = [10_000, 12_000];
/** Determines the next port to try. Its first value differs between processes, so that they try different ports. */
let next = 131 * process.pid;

/** Returns a different port at each call. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + (next++ % COUNT);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  const isOpen = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (isOpen) await new Promise((resolve) => probe.close(resolve));
  return isOpen;
}

/**
 * Starts redis-server without persistence. If no port is given, this function chooses one, and retries if another process takes the
 * port or its bus port in the meantime.
 */
export async function redisServer(
  options: { port?: number; args?: readonly string[] } = {},
): Promise<Server> {
  const { port, args = [] } = options;
  if (port !== undefined) return serverOn(port, args);
  for (let triesLeft = 4; ; triesLeft--) {
    try {
      return await serverOn(await freePort(), args);
    } catch (error) {
      if (triesLeft === 0) throw error;
    }
  }
}

async function serverOn(port: number, more: readonly string[]): Promise<Server> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    dir,
  ];
  const child = spawn('redis-server', [...args, ...more], { stdio: 'ignore' });
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => {
      rmSync(dir, { recursive: true, force: true });
      resolve();
    });
  });
  await listening(port, child);
  return {
    port,
    process: child,
    async stop(signal = 'SIGKILL') {
      child.kill('SIGCONT');
      child.kill(signal);
      await gone;
    },
  };
}

/** Resolves when a server accepts connections on the port. */
export async function listening(port: number, child?: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (child?.exitCode !== null && child !== undefined)
      throw new Error(`the server on port ${port} exited unexpectedly`);
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`no server accepts connections on port ${port}`);
}
