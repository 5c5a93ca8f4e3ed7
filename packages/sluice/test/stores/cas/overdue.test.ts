import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLimiter } from '../../../src/index.ts';
import { casStore } from '../../../src/stores/cas/cas.ts';
import { punctually, until } from 'sluice-test-support/redis/watch.ts';

/** A service that counts its writes. From the write number `from` on, it answers only when told to. */
function slowFrom(from: number, answer: boolean) {
  const service = {
    puts: 0,
    go(): void {},
    get: () => undefined,
    async put() {
      if (++service.puts >= from) await new Promise<void>((resolve) => (service.go = resolve));
      return answer;
    },
  };
  return service;
}

// An overloaded service rejects late writes. If they were repeated for callers that have given up, no write would ever be in
// time.
test('a check is not repeated after its deadline', () =>
  // Before its deadline, the check is repeated.
  punctually(50, async () => {
    const service = slowFrom(2, false);
    const limiter = createLimiter('5/s', {
      store: casStore(service, { onFailure: 'throw', deadline: 100 }),
      name: 'api',
    });
    await expect(limiter.take('key')).rejects.toThrow('deadline');
    expect(service.puts).toBe(2);
    service.go();
    await sleep(200);
    expect(service.puts).toBe(2);
  }));

test('checks whose deadline passed while they waited for another check are not decided', async () => {
  const service = slowFrom(1, true);
  const limiter = createLimiter('50/s', {
    store: casStore(service, { onFailure: 'throw', deadline: 100 }),
    name: 'api',
  });
  const first = Promise.allSettled([limiter.take('key')]);
  await until(() => service.puts === 1);
  const second = Promise.allSettled([limiter.take('key')]);
  expect(await Promise.all([first, second])).toMatchObject(
    Array.from({ length: 2 }, () => [{ status: 'rejected', reason: { fault: 'deadline' } }]),
  );
  service.go();
  await sleep(200);
  expect(service.puts).toBe(1);
});

test('a check is not charged after its deadline when another check of the same round is repeated', () =>
  punctually(50, async () => {
    let kept: { value: Uint8Array; version: number } | undefined;
    const gates: ((wrote: boolean) => void)[] = [];
    const service = {
      get: () => kept,
      /** The first two writes wait until the test decides whether they succeed. */
      async put(_key: string, value: Uint8Array) {
        if (gates.length < 2 && !(await new Promise<boolean>((go) => gates.push(go)))) return false;
        kept = { value, version: (kept?.version ?? 0) + 1 };
        return true;
      },
    };
    const store = casStore(service, { onFailure: 'throw', deadline: 400 });
    const limiter = createLimiter('50/day fixed-window', { store, name: 'api' });
    // Deadlines are longer until the store has answered once.
    await limiter.peek('key');
    // The first write holds the key, so that the next two checks wait for one round, with different deadlines.
    const first = limiter.take('key');
    await until(() => gates.length === 1);
    const early = Promise.allSettled([limiter.take('key')]);
    await sleep(200);
    const late = limiter.take('key');
    gates[0]?.(true);
    await first;
    await until(() => gates.length === 2);
    expect(await early).toMatchObject([{ status: 'rejected', reason: { fault: 'deadline' } }]);
    gates[1]?.(false);
    expect((await late).remaining).toBe(48);
  }));

test('a check whose row was read too late does not write the row', async () => {
  let puts = 0;
  const service = {
    async get() {
      await sleep(200);
      return undefined;
    },
    put() {
      puts++;
      return true;
    },
  };
  const limiter = createLimiter('5/s', {
    store: casStore(service, { onFailure: 'throw', deadline: 100 }),
    name: 'api',
  });
  await expect(limiter.take('key')).rejects.toThrow('deadline');
  await sleep(200);
  expect(puts).toBe(0);
});
