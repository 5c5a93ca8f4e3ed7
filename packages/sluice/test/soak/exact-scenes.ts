/** Scenes on a clock of their own, where every decision is known beforehand. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  type Limiter,
  type MaybePromise,
  memory,
  type Policies,
  type Policy,
  slidingLog,
  slidingWindow,
  StoreUnavailable,
} from '../../src/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { type Ask, someGap, someVerb } from '../stores/differential.ts';
import {
  fixedWindowModel,
  gcraModel,
  leakyBucketModel,
  type Model,
  slidingLogModel,
  slidingWindowModel,
} from '../algorithms/models.ts';
import { CASES } from '../support/policies.ts';
import { steady } from './book.ts';
import type { Backend, Scene } from './scene.ts';

const START = 1_700_000_000_000;
const names = Object.keys(CASES);

/** One that asks twice: of two tiers' rows, or for two keys. Nobody promises what comes between. */
function someDouble(draw: (below: number) => number): Ask {
  const [cost, key] = [draw(5), `key ${draw(4)}`];
  const mode = (['whole', 'partial', 'always'] as const)[draw(3)] ?? 'whole';
  if (draw(2) === 0) return (limiter) => limiter.take(key, { cost, mode, tier: 'other' });
  return (limiter) => limiter.takeMany([{ key }, { key: 'key 9', cost }]);
}

/** Of each pair: rows on a clock of our own are kept for a day. */
const STEPS = 300;
/** Longer than any fault but those that lose what the store knew. */
const DEADLINE = 3000;

/** A store in trouble against one in memory: the same to the last bit, whatever happens, or a fault. */
export function sameAsMemory(backend: Backend): Scene {
  const scene = `${backend.name}: same as memory`;
  return async (stage) => {
    const { trouble } = backend;
    const draw = random(stage.seed);
    const connection = backend.connect();
    let pairs = 0;
    while (!stage.isOver()) {
      if (trouble.epoch % 2 === 1) {
        await sleep(10);
        continue;
      }
      const [name, other] = [names[draw(names.length)], names[draw(names.length)]];
      const clock = manualClock(START + draw(1e9));
      const isTiered = draw(3) === 0;
      const tiers: Record<string, Policies> = isTiered ? { other: CASES[other]?.policies ?? '' } : {};
      const options = { name: `soak ${++pairs}`, tiers };
      const policies = CASES[name]?.policies ?? '';
      const { epoch } = trouble;
      const store = connection.store({ clock, deadline: DEADLINE });
      const here = createLimiter(policies, { ...options, store: memory({ clock }) });
      const there = createLimiter(policies, { ...options, store });
      for (let step = 0; step < STEPS && !stage.isOver(); step++) {
        clock.set(clock.now() + someGap(draw));
        const atOnce = isTiered || !backend.isInOrder ? 1 : 1 + draw(12);
        const asks = Array.from({ length: atOnce }, () =>
          isTiered && draw(3) === 0 ? someDouble(draw) : someVerb(draw),
        );
        const began = steady();
        const expected = await Promise.all(asks.map((ask) => ask(here)));
        const answers = await Promise.allSettled(asks.map((ask) => ask(there)));
        // What the store forgot, or may have counted without an answer, the model does not know.
        if (trouble.epoch !== epoch) break;
        const failed = answers.filter((answer) => answer.status === 'rejected');
        for (const { reason } of failed)
          if (!(reason instanceof StoreUnavailable)) stage.wrong(scene, String(reason));
        if (failed.length > 0) {
          stage.unavailable(scene, began);
          await sleep(20);
          break;
        }
        const told = answers.map((answer) => (answer as PromiseFulfilledResult<unknown>).value);
        stage.checked(scene, asks.length);
        stage.denied(scene, told.filter(isDenial).length);
        if (step % 5 === 0) await sleep(5);
        if (isDeepStrictEqual(told, expected)) continue;
        const at = told.findIndex((one, i) => !isDeepStrictEqual(one, expected[i]));
        const pair = JSON.stringify([told[at], expected[at]]);
        stage.wrong(scene, `${name}, pair ${pairs}, step ${step}.${at}: ${pair}`);
        break;
      }
      await store.close();
    }
    await connection.close();
  };
}

const isDenial = (answer: unknown): boolean =>
  (answer as { allowed?: unknown } | undefined)?.allowed === false;

/** A policy with small numbers, and its model. */
function someModel(draw: (below: number) => number): [policy: Policy, model: Model, limit: number] {
  const [limit, per] = [1 + draw(12), 1 + draw(1000)];
  const window = { limit, per: `${per}ms` };
  switch (draw(5)) {
    case 0: {
      const burst = 1 + draw(2 * limit);
      return [gcra({ ...window, burst }), gcraModel(limit, per, burst), burst];
    }
    case 1: {
      const options = { size: limit, dripSize: 1 + draw(4), dripRate: per };
      return [leakyBucket(options), leakyBucketModel(options), limit];
    }
    case 2:
      return [slidingLog(window), slidingLogModel(limit, per), limit];
    case 3:
      return [fixedWindow(window), fixedWindowModel(limit, per), limit];
    default:
      return [slidingWindow(window), slidingWindowModel(limit, per), limit];
  }
}

/** Memory and shared memory against models in whole numbers, with pauses of milliseconds and of days. */
export const models: Scene = async (stage) => {
  const draw = random(stage.seed + 1);
  const clock = manualClock(START);
  const open = () => ({
    memory: memory({ clock, maxKeys: 100 }),
    'shared memory': sharedMemory({ clock, maxKeys: 100 }),
  });
  let stores = open();
  for (let round = 0; !stage.isOver(); round++) {
    const [policy, model, limit] = someModel(draw);
    // The same stores for many rounds: rows come and go as keys do. But a store has a table for every few policies.
    if (round % 200 === 0) stores = open();
    const name = policy.algorithm.name;
    const limiters = Object.entries(stores).map(
      ([store, each]): [string, Limiter<MaybePromise<Decision>>] => [
        `${store}: models`,
        createLimiter(policy, { store: each, name }),
      ],
    );
    for (let step = 0; step < 60; step++) {
      clock.advance([0, draw(50), draw(700), draw(500) === 0 ? draw(1e9) : 1][draw(4)] ?? 0);
      const cost = 1 + draw(limit + 1);
      const allowed = cost <= model.available(clock.now());
      if (allowed) model.take(clock.now(), cost);
      const remaining = Math.min(limit, Math.max(0, Math.floor(model.available(clock.now()))));
      for (const [scene, limiter] of limiters) {
        const decision = await limiter.take(`key ${round}`, cost);
        stage.checked(scene);
        if (!allowed) stage.denied(scene);
        if (decision.allowed !== allowed || decision.remaining !== remaining)
          stage.wrong(scene, `${name}: ${JSON.stringify([decision, allowed, remaining])}`);
      }
    }
    await sleep(10);
  }
};
