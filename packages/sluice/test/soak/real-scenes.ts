/** Scenes in real time, over one server and its faults: nobody may pass more than the bound, and nobody may hang. */
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  concurrency,
  createLimiter,
  DeniedError,
  gcra,
  leased,
  memory,
  penalty,
  type Store,
  StoreUnavailable,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { random } from '../differential.ts';
import { Book } from './book.ts';
import { connect, type Scene } from './scene.ts';

const DEADLINE = 200;
/** A busy machine wakes nobody on time; a hang is far beyond this. */
const PATIENCE = 3000;

/** The machine's clock against one that cannot be set. */
const clockOffset = (): number => Date.now() - performance.timeOrigin - performance.now();

/** Four processes' worth of clients on one key. `kept`: how long units may be held by a node, in milliseconds. */
function neverOver(scene: string, limit: number, kept: number, wrap: (store: Store) => Store): Scene {
  return async (stage) => {
    const policy = gcra({ limit, per: '1s' });
    const clients = Array.from({ length: 4 }, () => connect(stage));
    const nodes = clients.map((client) =>
      createLimiter(policy, { store: wrap(redis(client, { deadline: DEADLINE })), name: scene }),
    );
    const book = new Book(limit, limit / 1000);
    let { epoch } = stage.trouble;
    let since = 0;
    let offset = clockOffset();
    const settle = (): void => {
      const excess = book.excess();
      // The server tells the time by the machine's clock, which may be set while it counts.
      const set = clockOffset() - offset;
      offset += set;
      if (excess > 0)
        stage.wrong(scene, `${excess} units above the bound; the clock was set by ${set.toFixed(1)} ms`);
    };
    /** A server that forgot passes a burst more: a new book, once what was held before is gone. */
    const follow = (): void => {
      if (stage.trouble.epoch === epoch) return;
      settle();
      epoch = stage.trouble.epoch;
      since = performance.now() + kept;
    };
    const lane = async (node: number): Promise<void> => {
      const draw = random(stage.seed + 17 * node);
      while (!stage.isOver()) {
        const cost = 1 + draw(3);
        follow();
        const [before, asked] = [epoch, performance.now()];
        try {
          const { allowed } = await nodes[node].take('key', cost);
          const told = performance.now();
          follow();
          const isKnown = before === epoch && epoch % 2 === 0 && asked >= since;
          if (allowed && isKnown) book.add(asked, told, cost);
          if (!allowed) stage.denied(scene);
          stage.checked(scene);
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) stage.wrong(scene, String(error));
          stage.unavailable(scene);
          if (performance.now() - asked > DEADLINE + PATIENCE) stage.wrong(scene, 'a check hung');
          await sleep(5);
        }
        if (book.size > 50_000) settle();
        await (draw(20) === 0 ? sleep(draw(20)) : immediate());
      }
    };
    await Promise.all(nodes.flatMap((_, node) => [lane(node), lane(node)]));
    settle();
    await Promise.all(nodes.map(async (node) => node.close()));
    for (const client of clients) client.disconnect();
  };
}

export const direct: Scene = neverOver('redis', 200, 0, (store) => store);
/** Leases last a tenth of the window at most. */
export const leases: Scene = neverOver('leased redis', 1000, 300, (store) => leased(store, { nodes: 4 }));

/** Two threads on one key in shared memory. */
export const threads: Scene = async (stage) => {
  const LIMIT = 5000;
  const store = sharedMemory({ maxKeys: 100 });
  const book = new Book(LIMIT, LIMIT / 1000);
  const workers = [1, 2].map(
    () =>
      new Worker(new URL('./thread.mjs', import.meta.url), {
        workerData: { handle: store.handle, limit: LIMIT },
      }),
  );
  for (const worker of workers) {
    worker.on('message', (takes: readonly (readonly [number, number, number])[]) => {
      for (const [asked, told, units] of takes) {
        if (units > 0) book.add(asked, told, units);
        else stage.denied('threads');
      }
      stage.checked('threads', takes.length);
    });
    worker.on('error', (error) => stage.wrong('threads', String(error)));
  }
  const settle = (): void => {
    const excess = book.excess();
    if (excess > 0) stage.wrong('threads', `${excess} units above the bound`);
  };
  while (!stage.isOver()) {
    await sleep(100);
    if (book.size > 20_000) settle();
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
  settle();
};

/** A flood of keys, among them some that are blocked. */
export const flood: Scene = async (stage) => {
  const MOST = 5000;
  const store = memory({ maxKeys: MOST });
  const lockout = penalty({ after: 2, within: '1h', block: '1h' });
  const limiter = createLimiter({ rate: gcra({ limit: 100, per: '1m' }), lockout }, { store });
  for (let i = 0; i < 5; i++) limiter.take('guesser', 100);
  limiter.block('by hand', '1d');
  for (let i = 0; !stage.isOver(); i++) {
    for (let j = 0; j < 20; j++) limiter.take(`flood ${i} ${j}`);
    if (store.size > MOST + 1) stage.wrong('flood', `${store.size} keys are kept`);
    if (limiter.take('guesser').allowed || limiter.take('by hand').allowed)
      stage.wrong('flood', 'one was freed');
    stage.checked('flood', 20);
    await sleep(10);
  }
};

/** Callers that wait in line, some of whom give up; never more at once than places. */
export const waiting: Scene = async (stage) => {
  const client = connect(stage);
  const PLACES = 5;
  const policies = {
    places: concurrency({ limit: PLACES, lease: '1h' }),
    rate: gcra({ limit: 1000, per: '1s' }),
  };
  const limiter = createLimiter(policies);
  const far = createLimiter(gcra({ limit: 200, per: '1s' }), {
    store: redis(client, { deadline: DEADLINE }),
  });
  let inside = 0;
  const lane = async (number: number): Promise<void> => {
    const draw = random(stage.seed + 31 * number);
    while (!stage.isOver()) {
      const leave = AbortSignal.timeout(1 + draw(40));
      const options = draw(3) === 0 ? { signal: leave } : { timeout: 1 + draw(40) };
      const isFar = draw(4) === 0;
      const began = performance.now();
      try {
        if (isFar) await far.acquire('key', options);
        else
          await limiter.run(
            'key',
            async () => {
              if (++inside > PLACES) stage.wrong('waiting', `${inside} inside`);
              await sleep(draw(4));
              inside--;
            },
            options,
          );
      } catch (error) {
        const isExpected =
          error instanceof DeniedError ||
          error === leave.reason ||
          (isFar && error instanceof StoreUnavailable);
        if (!isExpected) stage.wrong('waiting', String(error));
      }
      if (performance.now() - began > PATIENCE + 2 * DEADLINE) stage.wrong('waiting', 'a caller hung');
      stage.checked('waiting');
      await immediate();
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, i) => lane(i)));
  const [places] = limiter.peek('key').policies;
  if (places.remaining !== PLACES) stage.wrong('waiting', 'a place was never freed');
  await far.close();
  client.disconnect();
};
