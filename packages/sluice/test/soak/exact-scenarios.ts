/** Scenarios on a manual clock, where a model predicts every decision. */
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
import { steady } from './ledger.ts';
import type { Backend, Scenario } from './scenario.ts';

const START = 1_700_000_000_000;
const names = Object.keys(CASES);

/** A call that makes two hits, for the rows of two tiers or for two keys. Other hits may be applied between these two. */
function someDouble(draw: (below: number) => number): Ask {
  const [cost, key] = [draw(5), `key ${draw(4)}`];
  const mode = (['whole', 'partial', 'always'] as const)[draw(3)] ?? 'whole';
  if (draw(2) === 0) return (limiter) => limiter.take(key, { cost, mode, tier: 'other' });
  return async (limiter) => {
    // `atomic` is not compared, because not every store decides takeMany in one step.
    const { atomic: _, ...decision } = await limiter.takeMany([{ key }, { key: 'key 9', cost }]);
    return decision;
  };
}

/** Number of steps with each pair of limiters. It is small, because Redis keeps rows on a manual clock for a day. */
const STEPS = 300;
/** Milliseconds. This is longer than any fault that does not lose rows. */
const DEADLINE = 3000;

/** Compares a store with faults to a store in memory. Every decision must be identical, or the check must fail. */
export function sameAsMemory(backend: Backend): Scenario {
  const scenario = `${backend.name}: same as memory`;
  return async (run) => {
    const { injector } = backend;
    const draw = random(run.seed);
    const connection = backend.connect();
    let pairs = 0;
    while (!run.isOver()) {
      if (injector.epoch % 2 === 1) {
        await sleep(10);
        continue;
      }
      const [name, other] = [names[draw(names.length)], names[draw(names.length)]];
      const clock = manualClock(START + draw(1e9));
      const isTiered = draw(3) === 0;
      const tiers: Record<string, Policies> = isTiered ? { other: CASES[other]?.policies ?? '' } : {};
      const options = { name: `soak ${++pairs}`, tiers };
      const policies = CASES[name]?.policies ?? '';
      const { epoch } = injector;
      const store = connection.store({ clock, deadline: DEADLINE });
      const here = createLimiter(policies, { ...options, store: memory({ clock }) });
      const there = createLimiter(policies, { ...options, store });
      for (let step = 0; step < STEPS && !run.isOver(); step++) {
        clock.set(clock.now() + someGap(draw));
        const atOnce = isTiered || !backend.isInOrder ? 1 : 1 + draw(12);
        const asks = Array.from({ length: atOnce }, () =>
          isTiered && draw(3) === 0 ? someDouble(draw) : someVerb(draw),
        );
        const began = steady();
        const expected = await Promise.all(asks.map((ask) => ask(here)));
        const answers = await Promise.allSettled(asks.map((ask) => ask(there)));
        // The model does not know which rows the store lost, or which hits it counted without answering them.
        if (injector.epoch !== epoch) break;
        const failed = answers.filter((answer) => answer.status === 'rejected');
        for (const { reason } of failed)
          if (!(reason instanceof StoreUnavailable)) run.violation(scenario, String(reason));
        if (failed.length > 0) {
          run.unavailable(scenario, began);
          await sleep(20);
          break;
        }
        const told = answers.map((answer) => (answer as PromiseFulfilledResult<unknown>).value);
        run.checked(scenario, asks.length);
        run.denied(scenario, told.filter(isDenial).length);
        if (step % 5 === 0) await sleep(5);
        if (isDeepStrictEqual(told, expected)) continue;
        const at = told.findIndex((one, i) => !isDeepStrictEqual(one, expected[i]));
        const pair = JSON.stringify([told[at], expected[at]]);
        run.violation(scenario, `${name}, pair ${pairs}, step ${step}.${at}: ${pair}`);
        break;
      }
      await store.close();
    }
    await connection.close();
  };
}

const isDenial = (answer: unknown): boolean =>
  (answer as { allowed?: unknown } | undefined)?.allowed === false;

/** A random policy with small numbers, and its model. */
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

/** Compares memory and shared memory to integer models, with pauses from milliseconds to days. */
export const models: Scenario = async (run) => {
  const draw = random(run.seed + 1);
  const clock = manualClock(START);
  const open = () => ({
    memory: memory({ clock, maxKeys: 100 }),
    'shared memory': sharedMemory({ clock, maxKeys: 100 }),
  });
  let stores = open();
  for (let round = 0; !run.isOver(); round++) {
    const [policy, model, limit] = someModel(draw);
    // Stores are reused for many rounds, so that rows are created and removed, but not forever, because each policy adds a table.
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
      for (const [scenario, limiter] of limiters) {
        const decision = await limiter.take(`key ${round}`, cost);
        run.checked(scenario);
        if (!allowed) run.denied(scenario);
        if (decision.allowed !== allowed || decision.remaining !== remaining)
          run.violation(scenario, `${name}: ${JSON.stringify([decision, allowed, remaining])}`);
      }
    }
    await sleep(10);
  }
};
