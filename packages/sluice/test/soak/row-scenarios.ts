/** Checks that a store does not keep many more rows than there are keys in use. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLimiter,
  type Decision,
  gcra,
  type Limiter,
  type MaybePromise,
  memory,
  penalty,
  StoreUnavailable,
} from '../../src/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { steady } from './ledger.ts';
import type { Backend, Scenario, Run } from './scenario.ts';

/** Milliseconds for which a row is needed. */
const NEEDED = 500;
/** Milliseconds for which a row may stay after it is no longer needed. */
const KEPT = 4000;
const LIMIT = 5;
/** Keys that fit into the shared memory. */
const CAPACITY = 1000;
/**
 * Number of additional rows that are accepted: rows of other limiters in the same store, and rows that Postgres deletes only
 * after a hundred writes.
 */
const TOLERANCE = 210;

/** How many rows a store may keep: the number of rows that were created recently. */
export class RowCount {
  private readonly created: (readonly [at: number, count: number])[] = [];
  private since = Infinity;

  add(at: number, count: number): void {
    this.since = Math.min(this.since, at);
    this.created.push([at, count]);
  }

  mostAt(now: number): number {
    // Some rows may have been created before the count began.
    if (now < this.since + NEEDED + KEPT) return Infinity;
    while (this.created.length > 0 && this.created[0][0] < now - NEEDED - KEPT) this.created.shift();
    return this.created.reduce((sum, [, count]) => sum + count, TOLERANCE);
  }
}

/** Takes from `perSecond` new keys each second. Each key must be unused, and its row must be removed soon afterwards. */
async function newKeys(
  run: Run,
  scenario: string,
  limiter: Limiter<MaybePromise<Decision>>,
  rows: () => MaybePromise<number>,
  perSecond: number,
  most = (made: RowCount, now: number): number => made.mostAt(now),
): Promise<void> {
  const made = new RowCount();
  let looked = steady();
  while (!run.isOver()) {
    const began = steady();
    const keys = Array.from({ length: perSecond / 10 }, (_, i) => `new ${steady()} ${i}`);
    for (const answer of await Promise.allSettled(keys.map(async (key) => limiter.take(key)))) {
      if (answer.status === 'rejected') {
        if (!(answer.reason instanceof StoreUnavailable)) run.violation(scenario, String(answer.reason));
        run.unavailable(scenario, began);
      } else {
        run.checked(scenario);
        const { allowed, remaining } = answer.value;
        if (!allowed || remaining !== LIMIT - 1)
          run.violation(scenario, `a new key has ${remaining} units left`);
      }
    }
    // The row may exist even if the answer was lost.
    made.add(steady(), keys.length);
    if (steady() - looked > 1000) {
      looked = steady();
      run.rows(scenario, await rows(), most(made, looked));
    }
    await sleep(100);
  }
}

const policy = gcra({ limit: LIMIT, per: `${NEEDED}ms` });

export function rowsOf(backend: Backend): Scenario {
  const scenario = `${backend.name}: rows`;
  return async (run) => {
    const connection = backend.connect();
    const store = connection.store({ deadline: 1000 });
    // Rows are counted by prefix, so no other limiter's name may start with this one.
    const limiter = createLimiter(policy, { store, name: 'soak-rows' });
    let last = 0;
    /** Returns the last count while the server cannot be reached. */
    const rows = async (): Promise<number> => {
      const count = await Promise.race([backend.rows('soak-rows').catch(() => last), sleep(1000, last)]);
      last = count;
      return count;
    };
    await newKeys(run, scenario, limiter, rows, 200);
    await connection.close();
  };
}

export const rowsInMemory: Scenario = async (run) => {
  const own = memory();
  const shared = sharedMemory({ maxKeys: CAPACITY });
  const limiter = createLimiter(policy, { store: shared, name: 'rows' });
  await Promise.all([
    newKeys(run, 'memory: rows', createLimiter(policy, { store: own }), () => own.size, 500),
    // Shared memory removes rows only when a stripe is full, and stripes do not fill evenly.
    newKeys(
      run,
      'shared memory: rows',
      limiter,
      () => shared.size,
      500,
      () => 1.5 * CAPACITY,
    ),
  ]);
};

/** A flood of new keys must not evict blocked keys. */
export const flood: Scenario = async (run) => {
  const scenario = 'memory: flood';
  const MAX_KEYS = 5000;
  const store = memory({ maxKeys: MAX_KEYS });
  const lockout = penalty({ after: 2, within: '1h', block: '1h' });
  const limiter = createLimiter({ rate: gcra({ limit: 100, per: '1m' }), lockout }, { store });
  for (let i = 0; i < 5; i++) limiter.take('guesser', 100);
  limiter.block('blocked', '1d');
  for (let i = 0; !run.isOver(); i++) {
    for (let j = 0; j < 20; j++) limiter.take(`flood ${i} ${j}`);
    if (store.size > MAX_KEYS + 1) run.violation(scenario, `the store keeps ${store.size} keys`);
    if (limiter.take('guesser').allowed || limiter.take('blocked').allowed)
      run.violation(scenario, 'a blocked key was evicted');
    run.checked(scenario, 22);
    run.denied(scenario, 2);
    await sleep(10);
  }
};
