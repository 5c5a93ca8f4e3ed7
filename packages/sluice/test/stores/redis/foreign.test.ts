/** Tests values that another program stored at a key, and algorithms that have no script. */
import { execFileSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import { createLimiter, gcra, type Policy } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());
const name = `foreign ${process.pid}`;

test.each(['!!', '!!short', '!!12345678', 'x', '', 'abc', 'a longer text that is no row at all'])(
  'a key whose value is the string %j, which is not a row, starts fresh and does not affect other keys',
  async (text) => {
    for (const policies of ['5/s', '5/s sliding-log']) {
      const limiter = createLimiter(policies, {
        store: redis(client, { onFailure: 'throw', deadline: '5s' }),
        name,
      });
      await limiter.reset('bad');
      await limiter.reset('good');
      await client.set(`${name}:{bad}`, text);
      const [bad, good] = await Promise.all([limiter.take('bad'), limiter.take('good')]);
      expect([bad.source, good.source, good.remaining]).toEqual(['store', 'store', 4]);
    }
  },
);

test('an algorithm without a script is reported, and does not open the breaker', async () => {
  const store = redis(client, { onFailure: 'throw', deadline: '5s' });
  const policy = gcra({ limit: 5, per: '1s' });
  const strange: Policy = { ...policy, algorithm: { ...policy.algorithm, name: 'strange' } };
  const limiter = createLimiter(strange, { store, name });
  for (let i = 0; i < 10; i++) await expect(limiter.take('k')).rejects.toMatchObject({ code: 'ERR_POLICY' });
  expect((await createLimiter('5/s', { store, name: `${name} well` }).take('k')).source).toBe('store');
});

test('the timer of a deadline that was met does not keep the process alive', () => {
  const script = `
    const { createLimiter } = await import('./dist/index.js');
    const { redis } = await import('./dist/stores/redis/index.js');
    const { Redis } = await import('ioredis');
    const client = new Redis(${inject('redisPort')});
    await createLimiter('5/s', { store: redis(client, { onFailure: 'throw', deadline: '25s' }), name: 'alive' }).take('k');
    client.disconnect();`;
  const began = performance.now();
  execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: new URL('../../..', import.meta.url),
  });
  expect(performance.now() - began).toBeLessThan(20_000);
});
