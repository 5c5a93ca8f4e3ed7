/** Rows come and go: as many as there are keys in use, and no more. */
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
import { steady } from './book.ts';
import type { Backend, Scene, Stage } from './scene.ts';

/** How long a row is needed, in milliseconds, and how much longer it may stay. */
const LIVES = 500;
const STAYS = 4000;
const LIMIT = 5;
/** Keys that the shared memory has room for. */
const ROOM = 1000;
/** Rows of other limiters in the same store; and Postgres deletes after a hundred writes, if that does not fail. */
const SOME = 210;

/** How many rows there may be: as many as were made of late. */
export class RowCount {
  private readonly made: (readonly [at: number, count: number])[] = [];
  private since = Infinity;

  add(at: number, count: number): void {
    this.since = Math.min(this.since, at);
    this.made.push([at, count]);
  }

  mostAt(now: number): number {
    // Some may have been made before anybody counted.
    if (now < this.since + LIVES + STAYS) return Infinity;
    while (this.made.length > 0 && this.made[0][0] < now - LIVES - STAYS) this.made.shift();
    return this.made.reduce((sum, [, count]) => sum + count, SOME);
  }
}

/** Always new keys, at most `aSecond` of them. Each is full, and its row is gone soon after. */
async function newKeys(
  stage: Stage,
  scene: string,
  limiter: Limiter<MaybePromise<Decision>>,
  rows: () => MaybePromise<number>,
  aSecond: number,
  most = (made: RowCount, now: number): number => made.mostAt(now),
): Promise<void> {
  const made = new RowCount();
  let looked = steady();
  while (!stage.isOver()) {
    const began = steady();
    const keys = Array.from({ length: aSecond / 10 }, (_, i) => `new ${steady()} ${i}`);
    for (const answer of await Promise.allSettled(keys.map(async (key) => limiter.take(key)))) {
      if (answer.status === 'rejected') {
        if (!(answer.reason instanceof StoreUnavailable)) stage.wrong(scene, String(answer.reason));
        stage.unavailable(scene, began);
      } else {
        stage.checked(scene);
        const { allowed, remaining } = answer.value;
        if (!allowed || remaining !== LIMIT - 1) stage.wrong(scene, `a new key has ${remaining} left`);
      }
    }
    // Also where the answer was lost: the row may be there.
    made.add(steady(), keys.length);
    if (steady() - looked > 1000) {
      looked = steady();
      stage.rows(scene, await rows(), most(made, looked));
    }
    await sleep(100);
  }
}

const policy = gcra({ limit: LIMIT, per: `${LIVES}ms` });

export function rowsOf(backend: Backend): Scene {
  const scene = `${backend.name}: rows`;
  return async (stage) => {
    const connection = backend.connect();
    const store = connection.store({ deadline: 1000 });
    // Names of keys must not begin alike.
    const limiter = createLimiter(policy, { store, name: 'soak-rows' });
    let last = 0;
    /** While the server cannot be asked, it cannot be asked for this either. */
    const rows = async (): Promise<number> => {
      const count = await Promise.race([backend.rows('soak-rows').catch(() => last), sleep(1000, last)]);
      last = count;
      return count;
    };
    await newKeys(stage, scene, limiter, rows, 200);
    await connection.close();
  };
}

export const rowsHere: Scene = async (stage) => {
  const own = memory();
  const shared = sharedMemory({ maxKeys: ROOM });
  const limiter = createLimiter(policy, { store: shared, name: 'rows' });
  await Promise.all([
    newKeys(stage, 'memory: rows', createLimiter(policy, { store: own }), () => own.size, 500),
    // It clears when it is full: stripes do not fill evenly, so there is room for some more.
    newKeys(
      stage,
      'shared memory: rows',
      limiter,
      () => shared.size,
      500,
      () => 1.5 * ROOM,
    ),
  ]);
};

/** A flood of keys, among them some that are blocked. */
export const flood: Scene = async (stage) => {
  const scene = 'memory: flood';
  const MOST = 5000;
  const store = memory({ maxKeys: MOST });
  const lockout = penalty({ after: 2, within: '1h', block: '1h' });
  const limiter = createLimiter({ rate: gcra({ limit: 100, per: '1m' }), lockout }, { store });
  for (let i = 0; i < 5; i++) limiter.take('guesser', 100);
  limiter.block('by hand', '1d');
  for (let i = 0; !stage.isOver(); i++) {
    for (let j = 0; j < 20; j++) limiter.take(`flood ${i} ${j}`);
    if (store.size > MOST + 1) stage.wrong(scene, `${store.size} keys are kept`);
    if (limiter.take('guesser').allowed || limiter.take('by hand').allowed)
      stage.wrong(scene, 'one was freed');
    stage.checked(scene, 22);
    stage.denied(scene, 2);
    await sleep(10);
  }
};
