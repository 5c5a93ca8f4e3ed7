/** Blocks in a process of their own, on the runtime that they are written for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join, parse } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { root } from 'sluice-test-support/docs/blocks.ts';

/** Beside Node. */
export const RUNTIMES = ['bun', 'deno', 'workerd'] as const;
export type Runtime = 'node' | (typeof RUNTIMES)[number];

export interface Running {
  /** workerd is not ours to look at. */
  readonly child: ChildProcess | undefined;
  /** What it has printed. */
  lines(): string[];
  isOver(): boolean;
  /** What it said when it, or a process that it started, ended in an error. */
  failure(): string | undefined;
  stop(): Promise<void>;
}

/** A server among them finds that it should listen on the port. `others` are files that the first one starts by itself. */
export async function start(
  runtime: Runtime,
  file: string,
  port: number,
  others: readonly string[] = [],
): Promise<Running> {
  const command = join(root, 'node_modules/.bin', runtime);
  if (runtime === 'workerd') return onWorkerd(file, port);
  if (runtime === 'bun') return spawned(port, command, 'run', file);
  if (runtime === 'deno') return spawned(port, command, 'run', '--no-check', '--allow-all', file);
  // Node 20 runs no TypeScript.
  const outdir = join(dirname(file), 'built');
  await bundled({ entryPoints: [file, ...others], outdir, platform: 'node', packages: 'external' });
  return spawned(port, process.execPath, join(outdir, `${parse(file).name}.js`));
}

function bundled(options: BuildOptions) {
  return build({ bundle: true, format: 'esm', target: 'es2022', ...options });
}

function spawned(port: number, command: string, ...args: readonly string[]): Running {
  const env = {
    ...process.env,
    // Where Bun, and Deno, listen unless the code says it.
    PORT: String(port),
    DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
    NO_COLOR: '1',
    NODE_OPTIONS: '',
  };
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  let [printed, errors] = ['', ''];
  child.stdout.on('data', (chunk) => {
    printed += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  return {
    child,
    lines: () => printed.split('\n').slice(0, -1),
    isOver: () => child.exitCode !== null || child.signalCode !== null,
    // Without a code it runs, or was stopped. Node signs what it says of an error that nobody caught.
    failure: () => (child.exitCode || /^Node\.js v\d/m.test(errors) ? errors || 'it failed' : undefined),
    async stop() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

async function onWorkerd(file: string, port: number): Promise<Running> {
  const { outputFiles } = await bundled({
    entryPoints: [file],
    write: false,
    // What is not there on Workers must not be asked for.
    platform: 'neutral',
    mainFields: ['module', 'main'],
  });
  const script = outputFiles?.[0]?.text ?? '';
  const worker = new Miniflare({ modules: true, script, compatibilityDate: '2026-01-01', port });
  await worker.ready;
  return {
    child: undefined,
    lines: () => [],
    isOver: () => false,
    failure: () => undefined,
    stop: () => worker.dispose(),
  };
}
