/**
 * Fuzz tests. Errors, rows and answers from a server, whatever they contain, must lead to a decision or to an error with a code.
 * See also bytes.test.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Policies,
  type Store,
  StoreUnavailable,
} from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { postgres } from '../../src/stores/postgres/index.ts';
import { redis } from '../../src/stores/redis/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-replies-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** True if there was a decision, false after a StoreUnavailable. Any other error is rethrown. */
async function isAnswered(store: Store<Promise<Decision>>, policies: Policies): Promise<boolean> {
  try {
    const decision = await createLimiter(policies, { store, name: 'api' }).take('k');
    expect(typeof decision.allowed).toBe('boolean');
    for (const number of [
      decision.taken,
      decision.limit,
      decision.remaining,
      decision.retryAfter,
      decision.resetAfter,
    ])
      expect(typeof number).toBe('number');
    expect(typeof decision.policy).toBe('string');
    expect(decision.policies).toHaveLength(1);
    return true;
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    return false;
  }
}

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, true, -1, 0, 1e300, Number.NaN, '', '__proto__', [], {}),
  fc.jsonValue({ maxDepth: 2 }),
  fc.uint8Array({ maxLength: 80 }),
);

describe('Redis error messages', () => {
  const word = fc.constantFrom(
    'NOSCRIPT No matching script',
    'MOVED 866 127.0.0.1:1',
    'ASK 866 127.0.0.1:1',
    'TRYAGAIN',
    'LOADING',
    'CLOCK 1700000000000',
    'CLOCK 1.2.3',
    'CLOCK .',
    'CLOCK 9e99',
    `CLOCK ${'9'.repeat(400)}`,
    'OOM command not allowed',
  );
  const thrown = fc.oneof(
    word.map((text): unknown => new Error(text)),
    fc.string({ unit: 'binary' }).map((text): unknown => new Error(text)),
    odd,
  );

  test.each(['gcra', 'calendar'])('%s: any error message causes at most a few retries', async (kind) => {
    const policy =
      kind === 'gcra' ? gcra({ limit: 5, per: '1s' }) : fixedWindow({ limit: 5, align: 'month' });
    await fc.assert(
      fc.asyncProperty(
        fc.array(thrown, { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        async (errors, cluster) => {
          let asked = 0;
          const send = () => Promise.reject(errors[asked++ % errors.length]);
          expect(await isAnswered(redis({ send, cluster }, { onFailure: 'throw' }), policy)).toBe(false);
          expect(asked).toBeLessThanOrEqual(21);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('Postgres rows', () => {
  const row = fc.record(
    {
      now: fc.oneof(fc.constant(1.7e12), odd),
      value: odd,
      version: odd,
      n: fc.oneof(fc.constantFrom(0, null), odd),
    },
    { requiredKeys: [] },
  );
  const reply = fc.oneof(
    fc.array(row, { maxLength: 2 }).map((rows): unknown => ({ rows })),
    odd,
    odd.map((rows): unknown => ({ rows })),
  );

  test('lead to a decision or a StoreUnavailable, whatever they contain', async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(reply, { minLength: 1, maxLength: 4 }), async (replies) => {
        let asked = 0;
        const query = async () => replies[asked++ % replies.length];
        const store = postgres({ query }, { onFailure: 'throw', deadline: 30 });
        if (await isAnswered(store, gcra({ limit: 5, per: '1s' }))) answered++;
        await store.close();
      }),
      { numRuns: 500 },
    );
    expect(answered).toBeGreaterThan(5);
  });
});

describe('answers of the process that serves a socket', () => {
  const number = fc.oneof(
    fc.integer(),
    fc.double().map((value) => (Number.isFinite(value) ? value : null)),
    odd,
  );
  const decision = fc
    .tuple(
      fc.oneof(fc.boolean(), odd),
      fc.array(number, { minLength: 5, maxLength: 5 }),
      odd,
      odd,
      fc.oneof(fc.constant(false), number),
      fc.oneof(fc.boolean(), odd),
      fc.array(number),
    )
    .map(([allowed, numbers, policy, source, at, held, states]): unknown => [
      allowed,
      ...numbers,
      policy,
      source,
      at,
      held,
      ...states,
    ]);
  const real: unknown = [true, 1, 5, 4, 0, 200, 'default', 'store', 1_700_000_000_000, false, 4, 0, 200];
  const line = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .array(fc.oneof(decision, fc.constant(real), odd), { maxLength: 3 })
      .map((answers) => JSON.stringify(answers)),
  );

  test('lead to a decision or a StoreUnavailable, whatever they say', async () => {
    const path = join(folder, 'limits.sock');
    let next = '';
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.write(`${next}\n`));
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(line, async (text) => {
        next = text;
        const store = ipc({ onFailure: 'throw', path, serve: false, deadline: 30 });
        if (await isAnswered(store, gcra({ limit: 5, per: '1s' }))) answered++;
        await store.close();
      }),
      { numRuns: 400 },
    );
    expect(answered).toBeGreaterThan(20);
    await new Promise((resolve) => server.close(resolve));
  });
});
