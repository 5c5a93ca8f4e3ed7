/** Runs blocks in their own process, on the runtime that they are written for. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join, parse } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { root } from 'sluice-test-support/docs/blocks.ts';

/** Runtimes other than Node. */
export const RUNTIMES = ['bun', 'deno', 'workerd'] as const;
export type Runtime = 'node' | (typeof RUNTIMES)[number];

export interface Running {
  /** Undefined for workerd, whose process is not accessible. */
  readonly child: ChildProcess | undefined;
  /** The lines that the block has printed. */
  lines(): string[];
  isOver(): boolean;
  /** The error output, if this process or one of its child processes has failed. */
  failure(): string | undefined;
  stop(): Promise<void>;
}

/** Starts a block. If it is a server, it should listen on `port`. `others` are files that the block itself starts. */
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
  // Node 20 cannot run TypeScript.
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
    // Tells Bun and Deno on which port to listen if the code does not specify a port.
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
    // `exitCode` is null while the process runs, and after a signal has stopped it. Node prints its version at the end of the
    // report of an uncaught error, which also shows errors of child processes.
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
    // Fails the build if the block imports a module that Workers do not have.
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
