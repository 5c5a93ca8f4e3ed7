/** Tests ending manual blocks early. The conformance suite checks that every store keeps the used units. */
import { describe, expect, test } from 'vitest';
import {
  type AnyLimiter,
  createLimiter,
  type Decision,
  leased,
  memory,
  type Store,
  synced,
} from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { denyCache } from '../../src/wrappers/deny-cache.ts';
import { resilient } from '../../src/wrappers/resilient/resilient.ts';

/** A memory store that answers with promises, as a remote store does. */
function remote(): Store<Promise<Decision>> {
  const rows = memory({ clock: manualClock() });
  return { clock: rows.clock, apply: async (hit) => rows.apply(hit), close: () => rows.close() };
}

const WRAPPED: Readonly<Record<string, () => Store>> = {
  denyCache: () => denyCache(remote()),
  leased: () => leased(remote(), { clock: manualClock(), nodes: 1 }),
  synced: () => synced(remote(), { every: '1s', clock: manualClock() }),
  resilient: () => resilient(remote(), { onFailure: 'throw' }),
};

test.each(Object.entries(WRAPPED))(
  'unblock ends a manual block and keeps the used units on a store that is wrapped by %s',
  async (_, make) => {
    const limiter: AnyLimiter = createLimiter('100/h fixed-window', { store: make(), name: 'api' });
    await limiter.take('alice', 60);
    await limiter.block('alice', '1h');
    expect(await limiter.take('alice')).toMatchObject({ allowed: false, policy: 'block' });
    await limiter.unblock('alice');
    expect(await limiter.take('alice', 50)).toMatchObject({ allowed: false, policy: 'default' });
    expect(await limiter.take('alice', 40)).toMatchObject({ allowed: true, remaining: 0 });
    await limiter.close();
  },
);

test('unblock ends a manual block of the fallback limiter while the store is unavailable', async () => {
  const local = createLimiter('5/h');
  const broken: Store<Promise<Decision>> = {
    ...remote(),
    apply: () => Promise.reject(new Error('connection lost')),
  };
  const store = resilient(broken, { onFailure: local, onEvent() {} });
  const limiter = createLimiter('100/h', { store, name: 'api' });
  await limiter.block('alice', '1h');
  expect(local.take('alice').policy).toBe('block');
  await limiter.unblock('alice');
  expect(local.take('alice').allowed).toBe(true);
  await store.close();
});

describe('callers that wait for a blocked key', () => {
  test('are served when the block ends early', async () => {
    const limiter = createLimiter('5/h', { store: memory({ clock: manualClock() }) });
    limiter.block('alice', '1h');
    const waiting = limiter.acquire('alice');
    limiter.unblock('alice');
    expect((await waiting).remaining).toBe(4);
  });
});

test('unblock does not evict the manual block of another key', () => {
  const limiter = createLimiter('5/h', { store: memory({ maxKeys: 2, clock: manualClock() }) });
  limiter.block('alice', '1h');
  for (let i = 0; i < 1000; i++) limiter.unblock(`unknown ${i}`);
  expect(limiter.take('alice').policy).toBe('block');
});

test('unblock rejects a key that is not a string', () => {
  expect(() => createLimiter('5/h').unblock(7 as never)).toThrow(
    expect.objectContaining({ code: 'ERR_KEY' }),
  );
});
