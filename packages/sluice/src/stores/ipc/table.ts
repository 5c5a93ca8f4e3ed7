/** The state of the serving process. It decides the hits of a line and returns the decisions. */
import type { AlgorithmsByName } from '../../algorithms/by-name.ts';
import { allOrNoneOf } from '../../engine/all-or-none.ts';
import type { Decision, Hit, Plan, Store } from '../../engine/contract.ts';
import { boundedCache } from '../../internal/bounded-cache.ts';
import { type Inside, insideOf } from '../memory/memory.ts';
import { type Entry, Ledger } from './ledger.ts';
import { type Decider, deciderOn, failed, LOST, type Outcome } from '../wire/decider.ts';
import { type Ask, hitFrom, type HitLine, planFrom, planText } from '../wire/wire.ts';

/** The cache keeps at least this many parsed plans. A plan that is no longer in the cache is parsed again. */
const READY = 5000;

export interface Table extends Decider {
  /** Called when this process begins to serve. */
  open(): void;
  close(): void;
}

/**
 * Creates the table. `file` is where the state for a successor is kept if the store is `memory()`. If `file` is undefined, the
 * state is not kept.
 */
export function tableOf(store: Store, algorithms: AlgorithmsByName, file: string | undefined): Table {
  const plans = boundedCache<Plan>(READY);
  const planOf = (text: string): Plan => plans.get(text) ?? plans.set(text, planFrom(text, algorithms));
  const inside = insideOf(store);
  if (file !== undefined && inside !== undefined) return recorded(inside, algorithms, planOf, file);
  return {
    open() {},
    ...deciderOn(store, (line, texts) => hitFrom(line, planOf(texts[line[0]]))),
    close() {},
  };
}

function recorded(
  inside: Inside,
  algorithms: AlgorithmsByName,
  planOf: (text: string) => Plan,
  path: string,
): Table {
  const ledger = new Ledger({
    path,
    inside,
    planOf,
    textOf: (plan) => planText(plan, algorithms),
    replay: ([now, texts, hits]: Entry) => {
      for (const line of hits) inside.apply(hitFrom(line, planOf(texts[line[0]])), now);
    },
  });

  function decide([texts, hits, client, number]: Ask): Outcome[] {
    if (ledger.knows(client, number)) return hits.map(() => LOST);
    const changes: HitLine[] = [];
    let now = 0;
    const outcomes = hits.map((line): Outcome => {
      try {
        // All hits of a line use the same reading of the clock, so that the file needs only one time per line to replay the line.
        now ||= inside.now();
        const hit = hitFrom(line, planOf(texts[line[0]]));
        const decision = inside.apply(hit, now);
        if (mayChange(hit, decision)) changes.push(line);
        return decision;
      } catch (error) {
        return failed(error);
      }
    });
    if (changes.length > 0) ledger.append([now, texts, changes, client, number]);
    return outcomes;
  }

  function decideAll([texts, lines, client, number]: Ask): Outcome[] {
    if (ledger.knows(client, number)) return lines.map(() => LOST);
    try {
      const now = inside.now();
      const hits = lines.map((line) => hitFrom(line, planOf(texts[line[0]])));
      const decisions = allOrNoneOf(hits, (hit) => inside.apply(hit, now)) as Decision[];
      // Only hits that may have changed a row are recorded, so that the file can be replayed hit by hit. If a hit was denied,
      // nothing was taken for the others, so only the denied hit is recorded.
      const denied = decisions.findIndex(({ allowed }) => !allowed);
      const changes = lines.filter(
        (_, i) => (denied < 0 || i === denied) && mayChange(hits[i], decisions[i]),
      );
      if (changes.length > 0) ledger.append([now, texts, changes, client, number]);
      return decisions;
    } catch (error) {
      return lines.map(() => failed(error));
    }
  }

  return { open: () => ledger.open(), decide, decideAll, close: () => ledger.close() };
}

/** A denial changes nothing, unless denials are counted or the row was converted to different limits. */
function mayChange({ verb, plan }: Hit, { taken }: Decision): boolean {
  if (verb === 'peek') return false;
  if (taken > 0 || (verb !== 'take' && verb !== 'reserve')) return true;
  return plan.inherit !== undefined || plan.policies.some(({ algorithm }) => algorithm.countsDenials);
}
