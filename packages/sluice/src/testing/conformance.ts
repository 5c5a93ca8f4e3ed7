/**
 * States what every store must do, as claims that can be run under any test framework:
 *
 *   for (const { name, run } of conformance((clock) => memory({ clock }))) test(name, run);
 */
import { createLimiter, type Decision, type MaybePromise, type Store } from '../index.ts';
import { ALGORITHM_CLAIMS } from './algorithm-claims.ts';
import { INHERIT_CLAIMS } from './inherit-claims.ts';
import { type ManualClock, manualClock } from './manual-clock.ts';
import { COST_CLAIMS } from './cost-claims.ts';
import { VERB_CLAIMS } from './verb-claims.ts';

/** A behavior that every store must have. */
export interface Claim {
  /** The behavior, as a sentence. */
  readonly name: string;
  /** Rejects if the store does not have this behavior. */
  readonly run: () => Promise<void>;
}

/** A multiple of a day, a week and 1000 seconds, so that windows of these lengths start here. */
const EPOCH = 1_693_440_000_000 - (1_693_440_000_000 % (86_400_000 * 7 * 125));

/** All claims, to be run against stores that `make` creates. Each store must use the clock that `make` receives. */
export function conformance(make: (clock: ManualClock) => MaybePromise<Store>): Claim[] {
  return [...ALGORITHM_CLAIMS, ...VERB_CLAIMS, ...COST_CLAIMS, ...INHERIT_CLAIMS].map(
    ({ name, policies, options, steps }) => ({
      name,
      async run() {
        const clock = manualClock(EPOCH);
        const store = await make(clock);
        const limiter = createLimiter(policies, {
          store: store as Store<Decision>,
          name: `claim ${name}`,
          tiers: { pro: '100/s', log: '3/s sliding-log' },
          ...options,
        });
        try {
          for (const [index, [at, ask, expected]] of steps.entries()) {
            clock.set(EPOCH + at);
            check(`${name}, step ${index} at ${at} ms`, await ask(limiter), expected);
          }
        } finally {
          await limiter.close();
          await store.close();
        }
      },
    }),
  );
}

function check(where: string, actual: unknown, expected: object): void {
  for (const [field, value] of Object.entries(expected)) {
    const got = (actual as Record<string, unknown>)[field];
    if (typeof value === 'object') check(`${where}, ${field}`, got, value as object);
    else if (!same(got, value))
      throw new Error(`${where}: ${field} should be ${String(value)}, is ${String(got)}`);
  }
}

/** Compares durations with a tolerance of a microsecond, which is about the precision of epoch milliseconds in a float64. */
function same(got: unknown, value: unknown): boolean {
  return (
    got === value || (typeof got === 'number' && typeof value === 'number' && Math.abs(got - value) < 0.001)
  );
}
