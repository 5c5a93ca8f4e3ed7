/** Fuzz tests of untrusted input on the ipc socket, and of table names that become part of an SQL statement. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { createLimiter, SluiceError } from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { postgres } from '../../src/stores/postgres/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-sockets-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the ipc server keeps serving other clients, whatever one of them sends', async () => {
  const path = join(folder, 'limits.sock');
  const store = ipc({ onFailure: 'throw', path, deadline: '30s' });
  const limiter = createLimiter('1000000/h fixed-window', { store, name: 'others' });
  let used = 0;
  const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(null, -1, 1e300, '__proto__', [], {}));
  const plan = fc.oneof(
    fc.string(),
    fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
    fc
      .tuple(odd, odd, odd, odd)
      .map(([name, params, limit, window]) =>
        JSON.stringify([name, [['p', 'gcra', params, limit, window]], false]),
      ),
  );
  const hit = fc.oneof(
    odd,
    fc
      .tuple(fc.nat(2), fc.constantFrom('take', 'reset', 'block', 'none', 7), odd, odd, odd, odd)
      .map((parts): unknown => parts),
  );
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .tuple(fc.array(plan, { maxLength: 2 }), fc.array(hit, { maxLength: 3 }))
      .map((ask) => JSON.stringify(ask)),
  );
  await limiter.take('k');
  used++;
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 3 }), async (lines) => {
      const stranger = connect(path);
      stranger.on('error', () => {});
      stranger.resume();
      stranger.end(lines.map((text) => `${text}\n`).join(''));
      await new Promise((resolve) => stranger.once('close', resolve));
      used++;
      expect((await limiter.take('k')).remaining).toBe(1_000_000 - used);
    }),
    { numRuns: 150 },
  );
  await limiter.close();
  await store.close();
});

test('any table name that needs quotes is rejected', () => {
  const query = () => Promise.reject(new Error('not asked'));
  const name = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.constantFrom('a', '_', '1', '.', '"', "'", ';', '--', ' ', '\0', 'é', 'a'.repeat(50)))
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(name, (table) => {
      const isPlain =
        /^([a-z_][a-z_0-9]{0,50}\.)?[a-z_][a-z_0-9]{0,50}$/i.test(table) && !/[\r\n]/.test(table);
      if (isPlain) postgres({ query }, { onFailure: 'throw', table });
      else expect(() => postgres({ query }, { onFailure: 'throw', table })).toThrow(SluiceError);
    }),
    { numRuns: 1000 },
  );
});
