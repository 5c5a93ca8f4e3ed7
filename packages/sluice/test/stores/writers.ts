/** Two processes that take from the same keys of one backend concurrently. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { root } from 'sluice-test-support/packed.ts';

export const NODE: readonly string[] = [process.execPath];
export const BUN: readonly string[] = [join(root, 'node_modules/.bin/bun'), 'run'];
export const DENO: readonly string[] = [
  join(root, 'node_modules/.bin/deno'),
  'run',
  '--no-check',
  '--no-remote',
  '--node-modules-dir=manual',
  '--unstable-kv',
  '--allow-all',
];

interface Admitted {
  readonly oneKey: number;
  readonly manyKeys: number;
}

/** How long the processes get to start before both of them begin to take. */
const START = 1500;

/**
 * Runs writer.mjs twice, and returns how many takes the two processes admitted together. Each process makes `calls` takes from
 * one key, whose limit is 1.25 times `calls`, and half as many from several keys, whose limits add up to a quarter of `calls`.
 */
export async function admittedByTwo(
  [command = '', ...flags]: readonly string[],
  kind: string,
  address: string,
  calls = 400,
): Promise<Admitted> {
  const program = fileURLToPath(new URL('./writer.mjs', import.meta.url));
  const args = [...flags, program, kind, address, String(Date.now() + START), String(calls)];
  const run = async (): Promise<Admitted> => {
    const { stdout } = await promisify(execFile)(command, args, {
      env: { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '' },
      timeout: 50_000,
      killSignal: 'SIGKILL',
    });
    return JSON.parse(stdout) as Admitted;
  };
  const [one, other] = await Promise.all([run(), run()]);
  return { oneKey: one.oneKey + other.oneKey, manyKeys: one.manyKeys + other.manyKeys };
}
