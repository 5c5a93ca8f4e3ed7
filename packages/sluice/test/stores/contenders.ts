/** Claims about several stores on one backend that write the same rows concurrently. They also run without a test framework. */
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  slidingLog,
} from '../../src/index.ts';
import type { Store } from '../../src/index.ts';
import type { Claim } from '../../src/testing/index.ts';

const STORES = 4;

/**
 * `open` returns a store on the backend, like the store of another process. `hasTakeMany` says whether takeMany is one atomic
 * step on this backend.
 */
export function contenders(open: () => Store<Promise<Decision>>, hasTakeMany: boolean): Claim[] {
  return [
    {
      name: `${STORES} stores that write one row concurrently admit exactly the limit`,
      run: () => sameRow(open),
    },
    {
      name: `${STORES} stores that take from several keys concurrently charge all keys or none`,
      run: () => severalKeys(open, hasTakeMany),
    },
  ];
}

async function sameRow(open: () => Store<Promise<Decision>>): Promise<void> {
  const policies = { rate: gcra({ limit: 60, per: '1d' }), log: slidingLog({ limit: 50, per: '1d' }) };
  const name = `row ${crypto.randomUUID()}`;
  const limiters = Array.from({ length: STORES }, () => createLimiter(policies, { store: open(), name }));
  let admitted = 0;
  await each(limiters, 20, async (limiter) => {
    if ((await limiter.take('k')).allowed) admitted++;
  });
  same(admitted, 50);
  await close(limiters);
}

async function severalKeys(open: () => Store<Promise<Decision>>, hasTakeMany: boolean): Promise<void> {
  const id = crypto.randomUUID();
  const users = { limit: 2, per: '1d', align: 'first' } as const;
  const pairs = Array.from({ length: STORES }, () => {
    const store = open();
    const team = createLimiter(gcra({ limit: 15, per: '1d' }), { store, name: `team ${id}` });
    return { team, user: createLimiter(fixedWindow(users), { store, name: `user ${id}` }) };
  });
  let admitted = 0;
  const call = async ({ user, team }: (typeof pairs)[number], i: number) => {
    const { allowed, atomic } = await user.takeMany([{ key: `u${i % 10}` }, { limiter: team, key: 't' }]);
    if (allowed) admitted++;
    same(atomic, hasTakeMany);
  };
  await each(pairs, 10, call);
  const [{ user, team }] = pairs;
  const peeks = await Promise.all(Array.from({ length: 10 }, (_, i) => user.peek(`u${i}`)));
  const charged = peeks.reduce((sum, { remaining }) => sum + 2 - remaining, 0);
  // Ten users of two units each could take 20, but the team has only 15.
  same([admitted, charged, (await team.peek('t')).remaining], [15, 15, 0]);
  await close(pairs.flatMap((pair) => [pair.user, pair.team]));
}

/** Lets every store run a call `count` times, one after the other, all stores concurrently. */
async function each<T>(
  stores: readonly T[],
  count: number,
  call: (of: T, i: number) => Promise<void>,
): Promise<void> {
  await Promise.all(
    stores.map(async (of) => {
      for (let i = 0; i < count; i++) await call(of, i);
    }),
  );
}

async function close(limiters: readonly Limiter<Promise<Decision>>[]): Promise<void> {
  for (const limiter of limiters) await limiter.close();
}

function same(actual: unknown, expected: unknown): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(`found ${found} instead of ${wanted}`);
}
