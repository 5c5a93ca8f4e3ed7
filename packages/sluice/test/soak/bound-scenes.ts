/** Scenes in real time, over a store in trouble: nobody may pass more than the bound, and nobody may hang. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  type MaybePromise,
  type Policies,
  type Reservation,
  slidingLog,
  type Store,
  StoreUnavailable,
  tokenBucket,
} from '../../src/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { Book, type Instant, instant, type Loss, steadily, steady } from './book.ts';
import { type Backend, type Scene, type Stage, stopwatch } from './scene.ts';
import type { Draw } from './trouble.ts';

/** Milliseconds. A busy machine wakes nobody on time; a hang is far beyond this, and each deadline well within. */
const PATIENCE = 5000;
const NODES = 4;
const LANES = 2;

export interface BoundOptions {
  readonly scene: string;
  /** Units that pass at once, and in a second. */
  readonly limit: number;
  /** The greatest cost; default a tenth of the limit. */
  readonly largest?: number;
  readonly wrap?: (store: Store<Promise<Decision>>, stage: Stage) => Store;
  /** Whenever the store lost what it knew, if another backend's trouble knows that. */
  readonly losses?: readonly Loss[];
  /** Decided by a clock that nobody can set. */
  readonly isSteady?: boolean;
  /** The longest between two goes of a client, in milliseconds; default 30. Scenes share this process: none must starve the others. */
  readonly pause?: number;
  /** No turns are booked. */
  readonly isNow?: boolean;
  /** Milliseconds; default 200. */
  readonly deadline?: number;
  /** For how long a node may hold units, in milliseconds. */
  readonly kept?: number;
  /** How far the store's idea of the time may be behind, in milliseconds. */
  readonly behind?: number;
}

/** All of them let at most `limit` pass and `limit` a second more; what stands beside it only forbids more. */
function policiesOf(limit: number): Readonly<Record<string, Policies>> {
  const rate = gcra({ limit, per: '1s' });
  return {
    gcra: rate,
    bucket: tokenBucket({ capacity: limit, refill: limit, every: '1s' }),
    several: {
      rate,
      log: slidingLog({ limit: 3 * limit, per: '2s', resolution: 20 }),
      day: fixedWindow({ limit: 1e9, per: '1d' }),
    },
  };
}

interface Asked {
  readonly asked: Instant;
  readonly told: Instant;
}

/**
 * Processes' worth of clients on a few keys. Two kinds of keys: where units are given back, a booked turn may come when
 * what it waited for is gone, so turns are booked only where nothing is.
 */
export function neverOver(backend: Backend, options: BoundOptions): Scene {
  const {
    scene,
    limit,
    largest = limit / 10,
    wrap = (store) => store,
    kept = 0,
    behind = 0,
    deadline = 200,
    losses = backend.trouble.losses,
    isSteady = false,
    isNow = false,
    pause = 30,
  } = options;
  const clock = isSteady ? () => steadily(steady()) : instant;
  return async (stage) => {
    const connections = Array.from({ length: NODES }, () => backend.connect());
    const stores = connections.map((connection) => wrap(connection.store({ deadline }), stage));
    const tables = Object.entries(policiesOf(limit)).map(([name, policies]) => ({
      nodes: stores.map((store) => createLimiter(policies, { store, name: `${scene} ${name}` })),
      books: ['booked', 'given back'].map(
        () => new Book({ burst: limit, rate: limit / 1000, behind, kept, grain: 1 }),
      ),
    }));
    const lane = async (node: number, number: number): Promise<void> => {
      const draw = random(stage.seed + 17 * node + 101 * number);
      while (!stage.isOver()) {
        const { nodes, books } = tables[draw(tables.length)];
        const kind = draw(2);
        const act = [isNow ? takeNow : bookTurn, giveBack][kind];
        if (books[kind].isFull) settle(stage, scene, books[kind], losses);
        // Some at once, so that the limit is reached however slow the machine is; and now and then many, after a pause.
        const isSurge = draw(20) === 0;
        if (isSurge) await sleep(draw(200));
        await Promise.all(
          Array.from({ length: isSurge ? 30 : 1 + draw(8) }, () => {
            const cost = 1 + draw(largest);
            const turn = { limiter: nodes[node], book: books[kind], cost, stage, scene, draw, clock };
            return guarded(stage, scene, () => act(turn));
          }),
        );
        await sleep(draw(pause));
      }
    };
    await Promise.all([
      ...stores.flatMap((_, node) => Array.from({ length: LANES }, (__, i) => lane(node, i))),
      blocks(stage, scene, tables[0].nodes[0], losses, behind, clock),
    ]);
    for (const { books } of tables) for (const book of books) settle(stage, scene, book, losses);
    for (const store of stores) await store.close();
    for (const connection of connections) await connection.close();
  };
}

export type Take = Limiter<MaybePromise<Decision>>;

interface Turn {
  readonly limiter: Take;
  readonly book: Book;
  readonly cost: number;
  readonly stage: Stage;
  readonly scene: string;
  readonly draw: Draw;
  readonly clock: () => Instant;
}

export function settle(stage: Stage, scene: string, book: Book, losses: readonly Loss[]): void {
  const excess = book.excess(losses);
  if (excess > 0) stage.wrong(scene, `${excess} units above the bound`);
}

/** A fault is an answer if it comes in time. */
export async function guarded(stage: Stage, scene: string, act: () => Promise<void>): Promise<void> {
  const began = steady();
  const took = stopwatch(stage);
  try {
    await act();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) stage.wrong(scene, String(error));
    stage.unavailable(scene, began);
    await sleep(20);
  }
  if (took() > PATIENCE) stage.wrong(scene, 'a check hung');
}

async function timed<T>(
  clock: () => Instant,
  act: () => MaybePromise<T>,
): Promise<Asked & { readonly answer: T }> {
  const asked = clock();
  const answer = await act();
  return { asked, told: clock(), answer };
}

/** What passes, and turns up to 50 ms from now. */
async function bookTurn(turn: Turn): Promise<void> {
  const { limiter, cost, draw } = turn;
  await passes(turn, () =>
    draw(3) === 0 ? limiter.reserve('booked', { cost, maxDelay: 50 }) : limiter.take('booked', cost),
  );
}

const takeNow = (turn: Turn): Promise<void> => passes(turn, () => turn.limiter.take('booked', turn.cost));

async function passes(
  { book, cost, stage, scene, clock }: Turn,
  act: () => MaybePromise<Decision | Pick<Reservation, 'delay'>>,
): Promise<void> {
  const { asked, told, answer } = await timed(clock, act);
  stage.checked(scene);
  const delay = 'delay' in answer ? answer.delay : answer.allowed ? 0 : Infinity;
  if (delay === Infinity) stage.denied(scene);
  else book.add(asked, told, cost, delay);
}

/** Milliseconds within which a refund that failed may still arrive. */
const ON_ITS_WAY = 10_000;

/** Takes in all modes, some of which are given back. */
async function giveBack({ limiter, book, cost, stage, scene, draw, clock }: Turn): Promise<void> {
  // What is charged although it is refused would otherwise be all that the key has.
  const mode = draw(16) === 0 ? 'always' : draw(3) === 0 ? 'partial' : 'whole';
  const { asked, told, answer } = await timed(clock, () => limiter.take('given back', { cost, mode }));
  stage.checked(scene);
  if (!answer.allowed) stage.denied(scene);
  const passed = mode === 'partial' ? answer.taken : answer.allowed ? cost : 0;
  if (passed === 0) return;
  book.add(asked, told, passed);
  if (draw(4) !== 0) return;
  const began = steady();
  let ended = began + ON_ITS_WAY;
  try {
    await limiter.refund('given back', passed);
    ended = steady();
  } finally {
    book.giveBack(began, ended, passed);
  }
}

/** A key that is blocked lets nothing pass before the block ends, unless the store forgot it. */
async function blocks(
  stage: Stage,
  scene: string,
  limiter: Take,
  losses: readonly Loss[],
  behind: number,
  clock: () => Instant,
): Promise<void> {
  const SPAN = 300;
  for (let i = 0; !stage.isOver(); i++) {
    await guarded(stage, scene, async () => {
      const { asked, told } = await timed(clock, () => limiter.block(`blocked ${i % 3}`, SPAN));
      // Whether the clock was set back or forth meanwhile, until then the block holds.
      const end = Math.min(asked.machine, told.machine - (told.steady - asked.steady)) + SPAN - behind;
      while (!stage.isOver()) {
        const check = await timed(clock, () => limiter.take(`blocked ${i % 3}`));
        const latest = Math.max(
          check.told.machine,
          check.asked.machine + check.told.steady - check.asked.steady,
        );
        if (latest + 1 >= end) break;
        stage.checked(scene);
        if (!check.answer.allowed) stage.denied(scene);
        const isForgotten = losses.some(({ from, to }) => from <= check.told.steady && to >= asked.steady);
        if (check.answer.allowed && !isForgotten)
          stage.wrong(scene, `a blocked key passed, by ${check.answer.source}, ${end - latest} ms too early`);
        await sleep(40);
      }
    });
    await sleep(100);
  }
}
