/** Starts servers for tests, in this process or as separate processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import { createLog } from '../src/log.ts';
import { startServer } from '../src/server.ts';
import type { RunningServer, ServerOptions } from '../src/server-options.ts';

const ended: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-server-'));
  ended.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function temporaryFile(text: string, name = 'limits.yaml'): string {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text);
  return file;
}

export interface Serving extends RunningServer {
  readonly url: string;
  /** Log lines of the server so far. */
  readonly lines: string[];
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Response>;
}

const LOCAL = { host: '127.0.0.1', port: 0 };

/** Starts a server in this process, on a free port. */
export async function serving(limits: string, options: Partial<ServerOptions> = {}): Promise<Serving> {
  const lines: string[] = [];
  const server = await startServer({
    config: [temporaryFile(limits)],
    store: { url: 'memory' },
    listeners: { http: { address: LOCAL } },
    log: createLog((line) => lines.push(line), { level: 'debug' }),
    watch: false,
    ...options,
  });
  ended.push(() => server.drain({ timeout: 0 }));
  const url = `http://127.0.0.1:${server.addresses.http?.port}`;
  return {
    ...server,
    url,
    lines,
    post: (path, body, headers = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
}

export interface Started {
  readonly process: ChildProcess;
  readonly url: string;
  readonly port: number;
  /** Everything that was printed so far. */
  readonly output: () => string;
  /** Resolves when `words` appear in the output after the words that the previous call waited for. */
  says(words: string): Promise<void>;
  /** Resolves with the exit code. */
  readonly gone: Promise<number | null>;
}

export const COMMAND: string = fileURLToPath(new URL('../bin/sluice.js', import.meta.url));

/** Returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Runs `sluice …` as a separate process, from the build. */
export function run(...args: string[]): Pick<Started, 'process' | 'output' | 'gone'> {
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += String(chunk)));
  child.stderr.on('data', (chunk) => (printed += String(chunk)));
  const gone = new Promise<number | null>((resolve) => child.once('close', resolve));
  ended.push(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  return { process: child, output: () => printed, gone };
}

/** Runs `sluice serve` on a free port. */
export async function started(...args: string[]): Promise<Started> {
  const child = run('serve', '--http', '127.0.0.1:0', ...args);
  let seen = 0;
  async function says(words: string): Promise<void> {
    for (let tries = 0; tries < 2500; tries++) {
      const at = child.output().indexOf(words, seen);
      if (at >= 0) {
        seen = at + words.length;
        return;
      }
      if (child.process.exitCode !== null || child.process.signalCode !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`the process never printed ${words}; it printed:\n${child.output()}`);
  }
  await says('"message":"listening"');
  const port = Number(/"address":"127\.0\.0\.1:(\d+)"/.exec(child.output())?.[1]);
  return { ...child, port, url: `http://127.0.0.1:${port}`, says };
}

export async function take(
  url: string,
  limit: string,
  key: string,
): Promise<{ allowed: boolean; remaining: number }> {
  const response = await fetch(`${url}/v1/take`, { method: 'POST', body: JSON.stringify({ limit, key }) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as { allowed: boolean; remaining: number };
}
