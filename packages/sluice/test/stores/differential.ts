/** Applies the same random hits to the memory store and to another store. Decisions must be equal to the last bit. */
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type MaybePromise,
  memory,
  type Policies,
  type Store,
} from '../../src/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { CASES } from '../support/policies.ts';

const START = 1_700_000_000_000;

type AnyLimiter = Limiter<MaybePromise<Decision>>;
export type Ask = ((limiter: AnyLimiter) => unknown) & { readonly key?: string };

/** A charge, which may hold a place. */
export interface Taken {
  readonly key: string;
  readonly cost: number;
  readonly of: Decision;
}

/** A whole number, a half or a tenth. */
const someCost = (draw: (below: number) => number): number =>
  [draw(7), 1, draw(14) / 2, draw(70) / 10, 100][draw(5)] ?? 1;

/** Costs of some of the policies. */
function someCosts(draw: (below: number) => number, names: readonly string[]): Record<string, number> {
  const chosen = names.filter(() => draw(3) > 0);
  return Object.fromEntries(chosen.map((name) => [name, someCost(draw)]));
}

/** Corrects, renews or gives back a charge, which is identified by its decision or only by its time. */
function someReturn(
  draw: (below: number) => number,
  { key, cost, of }: Taken,
  names: readonly string[],
): Ask {
  const meant = draw(4) === 0 ? { at: of.at } : { of };
  const part = [cost, cost, cost / 2, undefined, someCosts(draw, names)][draw(5)];
  const used = draw(2) === 0 ? someCosts(draw, names) : someCost(draw);
  switch (draw(6)) {
    case 0:
      return (limiter) => limiter.release(key, { cost: part, ...meant });
    case 1:
      return (limiter) => limiter.refund(key, { cost: part, ...meant });
    case 2:
      return (limiter) => limiter.settle(key, { charged: part ?? cost, used, ...meant });
    case 3:
      return (limiter) => limiter.settle(key, { used, of });
    default:
      return Object.assign((limiter: AnyLimiter) => limiter.renew(key, { cost: part, of }), { key });
  }
}

/**
 * All verbs and modes, with whole costs, halves and tenths, for all policies or for each of `names`. A reservation is compared
 * without its `cancel` function. Some hits give back, correct or renew one of the charges, or a part of it.
 */
export function someVerb(
  draw: (below: number) => number,
  charges: readonly Taken[] = [],
  names: readonly string[] = [],
): Ask {
  if (charges.length > 0 && draw(3) === 0) return someReturn(draw, charges[draw(charges.length)], names);
  const key = `key ${draw(4)}`;
  const cost = someCost(draw);
  const keep = [undefined, undefined, draw(4), draw(10) / 10][draw(4)];
  if (names.length > 0 && draw(4) === 0) {
    const costs = { cost: someCosts(draw, names), keep };
    const mode = draw(2) === 0 ? 'whole' : 'always';
    if (draw(4) === 0) return (limiter) => limiter.peek(key, costs);
    return Object.assign((limiter: AnyLimiter) => limiter.take(key, { ...costs, mode }), { key });
  }
  const mode = (['whole', 'partial', 'always'] as const)[draw(3)] ?? 'whole';
  const span = 1 + draw(700);
  const maxDelay = [undefined, undefined, span, Infinity][draw(4)];
  const seldom = draw(20) === 0;
  switch (draw(16)) {
    case 0:
      return (limiter) => limiter.peek(key, { cost, keep });
    case 1:
      return (limiter) => limiter.refund(key, cost);
    case 2:
      return (limiter) => limiter.release(key, cost);
    case 3:
      return async (limiter) => {
        const { decision, delay } = await limiter.reserve(key, { cost, keep, maxDelay });
        return { decision, delay };
      };
    case 4:
      if (seldom && draw(3) === 0) return (limiter) => limiter.unblock(key);
      return (limiter) => (seldom ? limiter.block(key, span) : limiter.take(key));
    case 5:
      return (limiter) => (seldom ? limiter.reset(key) : limiter.take(key, cost));
    default:
      return Object.assign(
        (limiter: AnyLimiter) =>
          limiter.take(key, mode === 'always' ? { cost, mode, maxDelay } : { cost, mode, keep }),
        { key },
      );
  }
}

const MONTH = 30 * 86_400_000;

/** Time mostly moves forward, by whole and fractional milliseconds; sometimes it pauses, goes back, or jumps far in either direction. */
export function someGap(draw: (below: number) => number): number {
  if (draw(150) === 0) return (draw(2) === 0 ? -1 : 1) * [draw(5000), draw(100_000), draw(MONTH)][draw(3)];
  const gaps = [0, 0, draw(60), draw(60_000) / 1000, draw(1500), draw(20) === 0 ? draw(100_000) : 7];
  const gap = gaps[draw(gaps.length)] ?? 0;
  return draw(200) === 0 ? -draw(3000) : gap;
}

export interface Amount {
  /** The number of hits over all cases. */
  readonly hits: number;
  /** The most hits in one tick, which may be sent together and are decided in order. */
  readonly atOnce: number;
}

/** The most hits before all keys are replaced by new ones. */
const RENEWED = 200;

/**
 * Returns the answer, or the message of a SluiceError. Such an error is correct if the clock has gone back and a charge that is
 * identified by its time is now in the future.
 */
async function answerOf(ask: Ask, limiter: AnyLimiter): Promise<unknown> {
  try {
    return await ask(limiter);
  } catch (error) {
    // The store may come from another copy of the library, which has its own class of errors.
    if (error instanceof Error && error.name === 'SluiceError') return { error: error.message };
    throw error;
  }
}

/** Applies random hits from a seed. Rejects with the first decision that differs. */
export async function compare(
  policies: Policies,
  make: (clock: ManualClock) => Store<Promise<Decision>>,
  options: Pick<LimiterOptions, 'name' | 'inherit'>,
  { hits, atOnce }: Amount,
  seed: number,
): Promise<void> {
  const clock: ManualClock = manualClock(START);
  const draw = random(seed);
  const stores: readonly Store[] = [memory({ clock }), make(clock)];
  let limiters: Limiter<MaybePromise<Decision>>[] = [];
  let charges: Taken[] = [];
  let names: readonly string[] = [];
  for (let done = 0, renewed = 0; done < hits; ) {
    // Keys are replaced often, because many cases occur only in the first hits of a key.
    if (done >= renewed) {
      const name = `${options.name} ${done}`;
      for (const limiter of limiters) await limiter.close();
      limiters = stores.map((store) => createLimiter(policies, { ...options, name, store }));
      renewed = done + 1 + draw(RENEWED);
      charges = [];
      const { policies: states } = await limiters[0].peek('key 0');
      // A penalty, which has no limit, has no cost either.
      names = states.filter(({ limit }) => limit < Infinity).map((state) => state.name);
    }
    clock.set(clock.now() + someGap(draw));
    const asks = Array.from({ length: 1 + draw(atOnce) }, () => someVerb(draw, charges, names));
    const [expected, actual] = limiters.map((limiter) => asks.map((ask) => answerOf(ask, limiter)));
    const decisions = await Promise.all(expected);
    expect(await Promise.all(actual)).toEqual(decisions);
    for (const [i, of] of (decisions as Decision[]).entries()) {
      const { key } = asks[i];
      if (of.at !== undefined && key !== undefined) charges.push({ key, cost: of.taken, of });
    }
    charges = charges.slice(-20);
    done += asks.length;
  }
  for (const limiter of limiters) await limiter.close();
}

/** Adds a test for each entry of `policies.ts`. */
export function differential(
  title: string,
  make: (clock: ManualClock) => Store<Promise<Decision>>,
  { hits, atOnce }: Amount,
): void {
  describe.concurrent(title, () => {
    for (const [index, [name, { policies }]] of Object.entries(CASES).entries()) {
      test(`makes the same decisions for ${name}`, { timeout: 120_000 }, () => {
        const share = Math.ceil(hits / Object.keys(CASES).length);
        const own = { name: `differential ${process.pid} ${name}` };
        return compare(policies, make, own, { hits: share, atOnce }, index + 1);
      });
    }
  });
}
