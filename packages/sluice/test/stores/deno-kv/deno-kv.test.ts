/** Tests the Deno KV store in Deno, on a database in memory, and with two processes on a file. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { memory } from '../../../src/index.ts';
import { denoKv } from '../../../src/stores/deno-kv/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { contenders } from '../contenders.ts';
import { admittedByTwo, DENO } from '../writers.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-deno-kv-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the Deno KV store', () => {
  test('passes the conformance suite, and admits exactly the limit for several writers', async () => {
    const [command = '', ...flags] = DENO;
    const { stdout } = await promisify(execFile)(
      command,
      [...flags, fileURLToPath(new URL('./claims.ts', import.meta.url))],
      { env: { ...process.env, NO_COLOR: '1' }, timeout: 50_000, killSignal: 'SIGKILL' },
    );
    // Only the names of the claims are needed here.
    const claims = [...conformance(() => memory()), ...contenders(() => memory() as never, true)];
    expect(JSON.parse(stdout)).toEqual(Object.fromEntries(claims.map(({ name }) => [name, 'holds'])));
  }, 60_000);

  test('admits exactly the limit in two processes that share a file', async () => {
    const file = join(folder, 'limits.db');
    expect(await admittedByTwo(DENO, 'deno-kv', file)).toEqual({ oneKey: 500, manyKeys: 100 });
  }, 60_000);

  test.each([
    ['a promise', Promise.resolve(), 'is a promise; await Deno.openKv()'],
    ['undefined', undefined, 'must be the result of await Deno.openKv()'],
  ])('rejects %s and says what to pass', (_, given, words) => {
    expect(() => denoKv(given as never)).toThrow(words);
  });
});
