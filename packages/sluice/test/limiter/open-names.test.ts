/** Limiters that are open at the same time with one name on one store must be able to read each other's rows. */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type LimiterOptions,
  memory,
  type Policies,
  type PolicySource,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());

let names = 0;
const newName = (): string => `open ${process.pid} ${++names}`;

type Both = readonly [PolicySource, PolicySource];
const conflict = expect.objectContaining({ code: 'ERR_NAME', option: 'createLimiter.name' }) as Error;

const CONFLICTS: Readonly<Record<string, Both>> = {
  'another algorithm': ['10/min', '100/day fixed-window'],
  'an additional policy': ['10/h', '10/h & 100/day fixed-window'],
  'different policy names': [{ login: '5/min' }, { search: '5/min' }],
  'fixed policies instead of a policy function': [() => '5/min', '5/min'],
  'a different policy function': [() => '5/min', (key) => (key === 'alice' ? '9/min' : '5/min')],
};

describe.each(Object.entries(CONFLICTS))(
  'a second limiter of the same name with %s',
  (_, [first, second]) => {
    test('cannot be created until the first limiter is closed', async () => {
      const name = newName();
      const store = redis(client, { deadline: '30s' });
      const open = createLimiter(first, { store, name });
      expect(() => createLimiter(second, { store, name })).toThrow(conflict);
      createLimiter(second, { store, name: `${name} other` });
      await open.close();
      createLimiter(second, { store, name });
      expect(() => createLimiter(first, { store, name })).toThrow(conflict);
    });
  },
);

test('the error about two conflicting limiters shows both of them and says what to do', () => {
  const store = memory();
  createLimiter('10/min', { store, name: 'api' });
  expect(() => createLimiter({ day: '100/day fixed-window' }, { store, name: 'api' })).toThrow(
    'createLimiter.name is already used on this store by an open limiter with different kinds of policies (the open ' +
      'limiter has { "default": gcra }, this one has { "day": fixed-window }; give one of them another name, make them one ' +
      'limiter with tiers, or close() the open one first); got "api" [ERR_NAME]',
  );
});

const SHARED: Readonly<Record<string, readonly [Policies, Policies]>> = {
  'different limits': ['10/min', '100/day'],
  'different limits for several policies': ['10/min & 100/day', '20/min & 50/day'],
  'the same policies in another order': [
    { second: '10/s', day: '100/day' },
    { day: '100/day', second: '10/s' },
  ],
};

test.each(Object.entries(SHARED))('limiters with the same name may have %s', (_, [first, second]) => {
  for (const inherit of [undefined, 'additive', 'reset'] as LimiterOptions['inherit'][]) {
    const options = { store: memory(), name: 'api', inherit };
    createLimiter(first, options);
    createLimiter(second, options);
  }
});

test('limiters may be created repeatedly with equal policy functions', () => {
  const store = memory();
  for (let i = 0; i < 3; i++)
    createLimiter((key) => (key === 'a' ? '5/min' : '9/min'), { store, name: 'api' });
});

test('limiters without a name never conflict', () => {
  const store = memory();
  createLimiter('5/min', { store });
  createLimiter('5/min', { store, tiers: { pro: { second: '5/s' } } });
  createLimiter(() => '5/min', { store });
  createLimiter(() => '9/min fixed-window', { store });
});

test('limiters with the same name may differ, and count separately, on two stores that share a client', async () => {
  const name = newName();
  const [first, second] = [redis(client, { deadline: '30s' }), redis(client, { deadline: '30s' })];
  const old = createLimiter('2/h', { store: first, name });
  const changed = createLimiter('3/h fixed-window', { store: second, name });
  for (const _ of [1, 2, 3, 4]) await Promise.all([old.take('alice'), changed.take('alice')]);
  expect((await old.peek('alice')).allowed).toBe(false);
  expect((await changed.peek('alice')).allowed).toBe(false);
});

test('closing a limiter twice does not free a name that another open limiter uses', async () => {
  const store = memory();
  const [first, second] = [1, 2].map(() => createLimiter('10/min', { store, name: 'api' }));
  await first.close();
  await first.close();
  expect(() => createLimiter('10/min fixed-window', { store, name: 'api' })).toThrow(conflict);
  await second.close();
  createLimiter('10/min fixed-window', { store, name: 'api' });
});

test('a name is still in use after hundreds of other limiters were created', () => {
  const store = memory();
  createLimiter('10/min', { store, name: 'api' });
  for (let i = 0; i < 900; i++) createLimiter('10/min', { store, name: `other ${i}` });
  expect(() => createLimiter('10/min fixed-window', { store, name: 'api' })).toThrow(conflict);
});
