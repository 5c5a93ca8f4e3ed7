/** The verbs that ask about now. What books a turn, waits for one, or spans several keys is built on them: limiter.ts. */
import type { Decision, Hit, MaybePromise, Mode, Plan, Store, Verb } from './contract.ts';
import { type Duration, duration } from './duration.ts';
import { all, chain } from './maybe.ts';
import { cost as checkCost, keyOf, known, oneOf } from './options.ts';

/** In place of a cost alone. */
export interface CostOptions {
  /** Default 1; 0 peeks. */
  readonly cost?: number | undefined;
  /** One of the limiter's tiers; default its own policies. */
  readonly tier?: string | undefined;
}

/** In place of a cost alone. */
export interface TakeOptions extends CostOptions {
  /** Default 'whole'. */
  readonly mode?: Mode | undefined;
}

/** In place of a cost alone. */
export interface GiveBackOptions extends CostOptions {
  /**
   * The decision whose charge is given back. With it, a charge made by the fallback (`onFailure`) is given back there and
   * not in the store, which never made it.
   */
  readonly of?: Decision | undefined;
}

/** What asks the store once. `R` says when it answers. */
export interface Verbs<R extends MaybePromise<Decision> = Decision> {
  /** Charges if every policy allows. */
  take(key: string, options?: number | TakeOptions): R;
  /** The same answer, nothing written. */
  peek(key: string, options?: number | CostOptions): R;
  /** Gives back; never above full. */
  refund(key: string, options?: number | GiveBackOptions): R;
  /** Gives back only what is held: concurrency. */
  release(key: string, options?: number | GiveBackOptions): R;
  /** Whether what a key takes is held until `release`. */
  holds(key: string, tier?: string): boolean;
  /** Denies the key for a while, whatever it has left. */
  block(key: string, span: Duration): R;
  /** As if the key had never been seen. */
  reset(key: string): R;
}

/** Which plans a limiter has. */
export interface Plans {
  of(key: string, tier: string | undefined): Plan;
  /** Those whose rows a reset must reach; the first one's answer counts. */
  all(key: string): readonly Plan[];
}

/** `given`: called after something was given back. */
export function verbsOf(
  store: Store,
  plans: Plans,
  given: (key: string) => void,
): Verbs<MaybePromise<Decision>> {
  function ask(verb: Verb, key: string, cost: number, tier?: string, mode: Mode = 'whole', span = 0) {
    return store.apply({ verb, plan: planOf(key, tier), key, cost, mode, span });
  }

  const planOf = (key: string, tier?: string): Plan => plans.of(keyOf(key), tier);

  function giveBack(verb: 'refund' | 'release', key: string, options?: number | GiveBackOptions) {
    const { cost, tier, of } = optionsOf<GiveBackOptions>(options, GIVE_BACK);
    const answer = store.apply({ verb, plan: planOf(key, tier), key, cost, mode: 'whole', span: 0, of });
    given(key);
    return answer;
  }

  return {
    take(key, options) {
      if (options === undefined)
        return store.apply({ verb: 'take', plan: planOf(key), key, cost: 1, mode: 'whole', span: 0 });
      const { cost, tier, mode = 'whole' } = optionsOf<TakeOptions>(options, TAKE);
      return ask(cost === 0 ? 'peek' : 'take', key, cost, tier, oneOf('mode', mode, MODES));
    },
    peek(key, options) {
      const { cost, tier } = optionsOf<CostOptions>(options, COST);
      return ask('peek', key, cost, tier);
    },
    refund: (key, options) => giveBack('refund', key, options),
    release: (key, options) => giveBack('release', key, options),
    holds: (key, tier) => planOf(key, tier).policies.some(({ algorithm }) => algorithm.holds),
    /** A manual block belongs to the limiter's name, so one hit reaches every tier and version. */
    block: (key, span) => ask('block', key, 0, undefined, 'whole', duration('block', span)),
    reset(key) {
      const hits = plans
        .all(keyOf(key))
        .map((plan): Hit => ({ verb: 'reset', plan, key, cost: 0, mode: 'whole', span: 0 }));
      const answer = chain(all(hits.map((hit) => store.apply(hit))), ([own]) => own);
      given(key);
      return answer;
    },
  };
}

const MODES = ['whole', 'partial', 'always'] as const;
const COST = ['cost', 'tier'] as const;
const GIVE_BACK = ['cost', 'tier', 'of'] as const;
const TAKE = ['cost', 'tier', 'mode'] as const;

/** A bare number is the cost. */
export function optionsOf<T extends CostOptions>(
  options: number | T | undefined,
  names: readonly (keyof T & string)[],
): T & { cost: number } {
  if (options === undefined) return { cost: 1 } as T & { cost: number };
  // Also text, which is refused as a cost: the caller meant a number.
  if (typeof options !== 'object') return { cost: checkCost(options) } as T & { cost: number };
  const { cost = 1 } = known('options', options, names);
  return { ...options, cost: checkCost(cost) };
}
