/** Calls to a store with one hit or with several. */
import type { AllTaker, Decision, Hit, Store } from '../../engine/contract.ts';

/** A call to a store. Its answer contains a decision for each of its hits. */
export interface Call<T> {
  /** One hit, or several that the store decides in one step, on the same node. */
  readonly hits: readonly Hit[];
  send(): Promise<T>;
  decisions(answer: T): readonly Decision[];
}

const onlyDecision = (decision: Decision): readonly Decision[] => [decision];

export function callOf(store: Store<Promise<Decision>>, hit: Hit): Call<Decision> {
  return { hits: [hit], send: () => store.apply(hit), decisions: onlyDecision };
}

export function callOfAll(hits: readonly Hit[], takeAll: AllTaker): Call<Awaited<ReturnType<AllTaker>>> {
  return { hits, send: async () => takeAll(), decisions: (answer) => answer ?? [] };
}
