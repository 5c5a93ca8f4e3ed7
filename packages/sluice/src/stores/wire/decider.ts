/** Passes hits that were received from other processes to a store, and returns its decisions. Nothing is recorded, because the store keeps its own state. */
import type { Decision, Hit, MaybePromise, Store } from '../../engine/contract.ts';
import type { Ask, HitLine } from './wire.ts';

export type Outcome = Decision | { readonly error: string };

/** The reply for a hit that may have been decided already but whose answer was lost. */
export const LOST: Outcome = { error: 'connection closed' };

export type HitOf = (line: HitLine, plans: readonly string[]) => Hit;

/** Decides the hits of a request. */
export interface Decider {
  /** Decides all hits synchronously and in order. Only an asynchronous store answers later. */
  decide(ask: Ask): MaybePromise<Outcome>[];
  /**
   * Decides takes in one step, which charges all of them or none. Returns an empty list if the store cannot decide several takes
   * in one step. In that case, nothing was charged.
   */
  decideAll(ask: Ask): MaybePromise<readonly Outcome[]>;
}

/** Creates the decider. `hitOf` creates the hit of a line, and throws if the hit cannot be decided. */
export function deciderOn(store: Store, hitOf: HitOf): Decider {
  return {
    decide([texts, hits, , , isAgain]) {
      // The previous serving process may have decided these hits already.
      if (isAgain) return hits.map(() => LOST);
      return hits.map((line) => attempt(() => store.apply(hitOf(line, texts))));
    },
    async decideAll([texts, lines, , , isAgain]) {
      if (isAgain) return lines.map(() => LOST);
      try {
        const hits = lines.map((line) => hitOf(line, texts));
        return (await store.allTaker?.(hits)?.()) ?? [];
      } catch (error) {
        return lines.map(() => failed(error));
      }
    },
  };
}

async function attempt(act: () => MaybePromise<Decision>): Promise<Outcome> {
  try {
    return await act();
  } catch (error) {
    return failed(error);
  }
}

export function failed(error: unknown): Outcome {
  return { error: error instanceof Error ? error.message : String(error) };
}
