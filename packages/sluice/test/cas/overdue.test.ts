import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLimiter } from '../../src/index.ts';
import { casStore } from '../../src/stores/cas/cas.ts';

// A crowded service refuses whatever comes late. If that were tried again for callers who have left, nothing would ever
// come in time.
test('a check is not tried again once its caller has been told that its time is over', async () => {
  let puts = 0;
  const service = {
    get: () => undefined,
    async put() {
      puts++;
      await sleep(30);
      return false;
    },
  };
  const limiter = createLimiter('5/s', { store: casStore(service, { deadline: 100 }) });
  await expect(limiter.take('key')).rejects.toThrow('deadline');
  await sleep(60);
  const tried = puts;
  expect(tried).toBeGreaterThan(1);
  await sleep(200);
  expect(puts).toBe(tried);
});

test('checks that waited behind another until their time was over are not made', async () => {
  let puts = 0;
  const service = {
    get: () => undefined,
    async put() {
      puts++;
      await sleep(250);
      return true;
    },
  };
  const limiter = createLimiter('50/s', { store: casStore(service, { deadline: 100 }) });
  const first = limiter.take('key');
  await sleep(20);
  const second = limiter.take('key');
  await Promise.allSettled([first, second]);
  await sleep(300);
  expect(puts).toBe(1);
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
  const limiter = createLimiter('5/s', { store: casStore(service, { deadline: 100 }) });
  await expect(limiter.take('key')).rejects.toThrow('deadline');
  await sleep(200);
  expect(puts).toBe(0);
});
