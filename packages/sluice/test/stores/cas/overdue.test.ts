import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLimiter } from '../../../src/index.ts';
import { casStore } from '../../../src/stores/cas/cas.ts';
import { punctually, until } from 'sluice-test-support/redis/watch.ts';

/** A service that counts what it is asked to write. From the `from`-th on it answers only when told to. */
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

// A crowded service refuses whatever comes late. If that were tried again for callers who have left, nothing would ever
// come in time.
test('a check is not tried again once its caller has been told that its time is over', () =>
  // It has been tried again before.
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

test('checks that waited behind another until their time was over are not made', async () => {
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

test('a check whose row was read too late is not written', async () => {
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
