/** Properties of every algorithm, tested with random sequences of hits. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLimiter, type Decision, type Limiter, memory } from '../../src/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { CASES } from '../support/policies.ts';

const START = 1_700_000_000_000;
/** In milliseconds. Within this distance of an announced instant, float error may change the decision. */
const CLOSE = 0.002;

/** Gaps between hits: zero, short, about a window, and long; in whole and fractional milliseconds. */
const gap = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 60 }),
  fc.integer({ min: 0, max: 1200 }),
  fc.double({ min: 0, max: 1000, noNaN: true }),
  fc.integer({ min: 0, max: 20_000 }),
);
const cost = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 6 }));
const trace = fc.array(fc.record({ gap, cost }), { minLength: 1, maxLength: 60 });

function open(policies: Parameters<typeof createLimiter>[0]): { limiter: Limiter; clock: ManualClock } {
  const clock = manualClock(START);
  return { limiter: createLimiter(policies, { store: memory({ clock }) }), clock };
}

const DAY = 86_400_000;
const jump = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 40 * DAY }));

/** For each policy, how far in the future a row's instants may be before they are attributed to a wrong clock. */
function honored(limiter: Limiter): number[] {
  return limiter.peek('never seen').policies.map(({ window: own }) => Math.max(own, 10_000));
}

const seen = ({ allowed, taken, policy, policies }: Decision) => ({ allowed, taken, policy, policies });

for (const [name, { policies, atMost, window }] of Object.entries(CASES)) {
  describe(name, () => {
    test('never admits more than its bound in any window', () => {
      fc.assert(
        fc.property(trace, fc.constantFrom('whole' as const, 'partial' as const), (steps, mode) => {
          const { limiter, clock } = open(policies);
          const taken: { at: number; units: number }[] = [];
          for (const step of steps) {
            clock.advance(step.gap);
            const decision = limiter.take('k', { cost: step.cost, mode });
            if (decision.taken > 0) taken.push({ at: clock.now(), units: decision.taken });
          }
          for (const { at } of taken) {
            for (const span of [window, window / 3, window * 4]) {
              const inside = taken.filter((other) => other.at >= at && other.at < at + span - CLOSE);
              const units = inside.reduce((sum, other) => sum + other.units, 0);
              const bound =
                span === window * 4
                  ? Math.max(atMost(span, 6), 4 * atMost(window, 6))
                  : atMost(Math.max(span, 0), 6);
              expect(units).toBeLessThanOrEqual(bound + 1e-6);
            }
          }
        }),
      );
    });

    test('denies at every point before the announced instant and allows at that instant', () => {
      fc.assert(
        fc.property(trace, cost, fc.double({ min: 0, max: 1, noNaN: true }), (steps, asked, part) => {
          const { limiter, clock } = open(policies);
          for (const step of steps) {
            clock.advance(step.gap);
            limiter.take('k', step.cost);
          }
          const { allowed, retryAfter } = limiter.peek('k', asked);
          expect(allowed).toBe(retryAfter === 0);
          if (retryAfter === 0) return;
          const now = clock.now();
          if (retryAfter === Infinity) {
            clock.advance(1e9);
            expect(limiter.peek('k', asked).allowed).toBe(false);
            return;
          }
          for (const before of [part * retryAfter, retryAfter - CLOSE]) {
            if (before < 0 || before > retryAfter - CLOSE) continue;
            clock.set(now + before);
            expect(limiter.peek('k', asked).allowed).toBe(false);
          }
          clock.set(now + retryAfter);
          expect(limiter.peek('k', asked).allowed).toBe(true);
        }),
      );
    });

    test('is fully replenished at the announced instant', () => {
      fc.assert(
        fc.property(trace, (steps) => {
          const { limiter, clock } = open(policies);
          for (const step of steps) {
            clock.advance(step.gap);
            limiter.take('k', step.cost);
          }
          const reset = Math.max(...limiter.peek('k').policies.map((policy) => policy.resetAfter));
          clock.advance(reset + CLOSE);
          expect(seen(limiter.peek('k'))).toEqual(seen(limiter.peek('never seen')));
        }),
      );
    });

    test('a peek writes nothing', () => {
      fc.assert(
        fc.property(trace, (steps) => {
          const quiet = open(policies);
          const peeked = open(policies);
          for (const step of steps) {
            quiet.clock.advance(step.gap);
            peeked.clock.advance(step.gap / 2);
            peeked.limiter.peek('k', step.cost);
            peeked.clock.set(quiet.clock.now());
            peeked.limiter.peek('k', 3);
            expect(peeked.limiter.take('k', step.cost)).toEqual(quiet.limiter.take('k', step.cost));
          }
        }),
      );
    });

    test('a denied take does not change later decisions', () => {
      // The case with a penalty is skipped, because a penalty counts denials.
      if (name === 'several policies with a penalty') return;
      fc.assert(
        fc.property(trace, (steps) => {
          const { limiter, clock } = open(policies);
          for (const step of steps) {
            clock.advance(step.gap);
            const before = limiter.peek('k', 1);
            if (!limiter.take('k', step.cost).allowed) expect(limiter.peek('k', 1)).toEqual(before);
          }
        }),
      );
    });

    test('taking units and refunding them never makes more units available', () => {
      fc.assert(
        fc.property(trace, trace, cost, (before, after, given) => {
          const plain = open(policies);
          const refunded = open(policies);
          for (const step of before) {
            for (const { limiter, clock } of [plain, refunded]) {
              clock.advance(step.gap);
              limiter.take('k', step.cost);
            }
          }
          if (!refunded.limiter.take('k', given).allowed) return;
          refunded.limiter.refund('k', given);
          for (const step of after) {
            plain.clock.advance(step.gap);
            refunded.clock.advance(step.gap + CLOSE);
            plain.clock.advance(2 * CLOSE);
            const might = plain.limiter.peek('k', step.cost);
            if (refunded.limiter.peek('k', step.cost).allowed) expect(might.allowed).toBe(true);
            refunded.clock.set(plain.clock.now());
          }
        }),
      );
    });

    test('a refund never makes more units available than a new key has', () => {
      fc.assert(
        fc.property(trace, cost, (steps, given) => {
          const { limiter, clock } = open(policies);
          for (const step of steps) {
            clock.advance(step.gap);
            limiter.take('k', step.cost);
            const left = limiter.refund('k', given).policies;
            for (const [i, policy] of limiter.peek('never seen').policies.entries()) {
              expect(left[i]?.remaining).toBeLessThanOrEqual(policy.remaining);
            }
          }
        }),
      );
    });

    test('dropping a fully replenished row does not change any decision', () => {
      fc.assert(
        fc.property(trace, (steps) => {
          const kept = open(policies);
          const forgetful = open(policies);
          for (const step of steps) {
            kept.clock.advance(step.gap);
            forgetful.clock.advance(step.gap);
            const { policies: states } = forgetful.limiter.peek('k');
            if (states.every((policy) => policy.resetAfter === 0)) forgetful.limiter.reset('k');
            const expected = kept.limiter.take('k', step.cost);
            expect(seen(forgetful.limiter.take('k', step.cost))).toEqual(seen(expected));
          }
        }),
      );
    });

    test('a clock that goes back by up to one window creates no units, and extends a denial by at most the size of the jump', () => {
      const part = fc.double({ min: 0, max: 1, noNaN: true });
      fc.assert(
        fc.property(trace, part, trace, (before, share, during) => {
          const { limiter, clock } = open(policies);
          const back = share * Math.min(...honored(limiter));
          for (const step of before) {
            clock.advance(step.gap);
            limiter.take('k', step.cost);
          }
          const now = clock.now();
          const then = limiter.peek('k');
          clock.set(now - back);
          const early = limiter.peek('k');
          expect(early.remaining).toBeLessThanOrEqual(then.remaining);
          expect(early.retryAfter).toBeLessThanOrEqual(then.retryAfter + back + CLOSE);
          for (const step of during.slice(0, 5)) limiter.take('k', step.cost);
          clock.set(now);
          expect(limiter.peek('k').remaining).toBeLessThanOrEqual(then.remaining);
        }),
      );
    });

    test('a clock that jumps ahead and back causes denials of at most two windows', () => {
      fc.assert(
        fc.property(trace, jump, trace, cost, (before, ahead, during, asked) => {
          const { limiter, clock } = open(policies);
          for (const step of before) {
            clock.advance(step.gap);
            limiter.take('k', step.cost);
          }
          const now = clock.now();
          const longest = Math.max(...honored(limiter));
          const wait = Math.max(...limiter.peek('never seen').policies.map((policy) => policy.window));
          clock.advance(ahead);
          for (const step of during.slice(0, 5)) limiter.take('k', step.cost);
          const then = limiter.peek('k', asked);
          clock.set(now);
          const { retryAfter } = limiter.peek('k', asked);
          expect(retryAfter).toBeLessThanOrEqual(then.retryAfter + ahead + CLOSE);
          expect(retryAfter).toBeLessThanOrEqual(Math.max(then.retryAfter, wait) + longest + CLOSE);
          if (retryAfter === 0 || retryAfter === Infinity) return;
          clock.set(now + retryAfter - CLOSE);
          expect(limiter.peek('k', asked).allowed).toBe(false);
          clock.set(now + retryAfter);
          expect(limiter.peek('k', asked).allowed).toBe(true);
        }),
      );
    });

    test('with a clock that jumps ahead and back, at most twice the bound is admitted', () => {
      const long = fc.integer({ min: 200_000_000, max: 40 * DAY });
      fc.assert(
        fc.property(trace, long, trace, trace, (before, ahead, during, after) => {
          const { limiter, clock } = open(policies);
          const taken: { at: number; units: number }[] = [];
          function run(steps: typeof before): void {
            for (const step of steps) {
              clock.advance(step.gap);
              if (limiter.take('k', step.cost).allowed) taken.push({ at: clock.now(), units: step.cost });
            }
          }
          run(before);
          const now = clock.now();
          clock.advance(ahead);
          for (const step of during.slice(0, 5)) limiter.take('k', step.cost);
          clock.set(now);
          run(after);
          for (const { at } of taken) {
            const inside = taken.filter((other) => other.at >= at && other.at < at + window - CLOSE);
            const units = inside.reduce((sum, other) => sum + other.units, 0);
            expect(units).toBeLessThanOrEqual(2 * atMost(window, 6) + 1e-6);
          }
        }),
      );
    });
  });
}
