/**
 * The server's side of `remote`. It takes the body of a request, which any client may have written, and decides the hits in it with
 * a store. It does not check who sends the request.
 */
import { algorithmsByName } from '../../algorithms/by-name.ts';
import type { Hit, Plan, Store } from '../../engine/contract.ts';
import { boundedCache } from '../../internal/bounded-cache.ts';
import { SluiceError } from '../../internal/errors.ts';
import { all } from '../../internal/maybe-promise.ts';
import { checkOptionNames, storeIn, whole } from '../../internal/options.ts';
import { deciderOn, type Outcome } from '../wire/decider.ts';
import { answerLine, type Ask, hitFrom, type HitLine, planFrom } from '../wire/wire.ts';
import { askFrom, checkForPlan, checkGroup, checkPlanText } from './validate.ts';

/** Options of `decideRemoteHits`. */
export interface RemoteHitsOptions {
  /**
   * Prefix of the limiters' names in the store. It keeps these limiters apart from other limiters in the same store. Default
   * 'remote:'.
   */
  readonly prefix?: string | undefined;
  /** The maximum number of limiters with different names or kinds of policies. Default 1,000. */
  readonly maxLimiters?: number | undefined;
}

/**
 * Decides the hits in a parsed request body. Resolves with the body of the response, which is JSON. Rejects with a `SluiceError` if
 * the body is invalid. In that case, nothing was charged.
 */
export type RemoteHits = (body: unknown) => Promise<string>;

/** The cache keeps at least this many parsed plans. A plan that is no longer in the cache is parsed again. */
const PARSED_PLANS = 5000;
/** Maximum number of cells in a row. A plan of ten policies has about 30. */
const MAX_WIDTH = 1000;

/**
 * Creates the function with which a server answers the requests of `remote`. A caller of that function can charge, reset and block
 * every key of every limiter under the prefix, so the server must check the caller's token first.
 */
export function decideRemoteHits(store: Store, options: RemoteHitsOptions = {}): RemoteHits {
  storeIn('decideRemoteHits.store', store);
  const { prefix = 'remote:', maxLimiters = 1000 } = checkOptionNames('decideRemoteHits', options, [
    'prefix',
    'maxLimiters',
  ]);
  whole('decideRemoteHits.maxLimiters', maxLimiters);
  const algorithms = algorithmsByName('decideRemoteHits');
  const plans = boundedCache<Plan>(PARSED_PLANS);
  /** The limiters that sent hits, by name and signature. A store in memory has a table for each of them. */
  const limiters = new Set<string>();

  function planOf(text: string): Plan {
    return plans.get(text) ?? plans.set(text, parse(text));
  }

  function parse(text: string): Plan {
    checkPlanText(text);
    const parsed = planFrom(text, algorithms, 'that this server has');
    if (!(parsed.width <= MAX_WIDTH)) throw new SluiceError('ERR_POLICY', 'policies', text);
    const plan = { ...parsed, name: prefix + parsed.name };
    store.accept?.(plan);
    const limiter = `${plan.name}\0${plan.signature}`;
    if (limiters.size >= maxLimiters && !limiters.has(limiter))
      throw new SluiceError(
        'ERR_NAME',
        'createLimiter.name',
        parsed.name,
        'use the same name for all keys of a limiter',
        `cannot be added, because this server already has its maximum of ${maxLimiters} limiters`,
      );
    limiters.add(limiter);
    return plan;
  }

  function hitOf(line: HitLine, texts: readonly string[]): Hit {
    const hit = hitFrom(line, planOf(texts[line[0]]));
    checkForPlan(hit);
    return hit;
  }

  const decider = deciderOn(store, hitOf);
  async function outcomesOf(ask: Ask): Promise<readonly Outcome[]> {
    if (ask[5] !== true) return all(decider.decide(ask));
    checkGroup(ask, hitOf);
    return decider.decideAll(ask);
  }
  return async (body) => answerLine(await outcomesOf(askFrom(body)));
}
