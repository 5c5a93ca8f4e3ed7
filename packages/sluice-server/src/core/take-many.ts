/** Takes from several keys of several limits. Either all keys are charged, or none is. */
import { createLimiter, type Decision, type ManyDecision, type ManyItem, type MaybePromise } from 'sluice';
import type { ManyPart } from './limit.ts';
import { all, chain } from './maybe-promise.ts';

/** A limiter of which only the method `takeMany` is used. Its policy never applies, because each item names its own limiter. */
const limiter = createLimiter('1/s');

/** Some keys have an override that decides without the store. If such an override denies a key, nothing is charged. */
export function takeParts(parts: readonly ManyPart[]): MaybePromise<ManyDecision> {
  const items = parts.flatMap((part) => ('item' in part ? [part.item] : []));
  const declared = parts.flatMap((part) => ('declared' in part ? [part.declared] : []));
  const denied = declared.find(({ allowed }) => !allowed);
  if (denied !== undefined)
    return chain(all(items.map(peek)), (peeked) => merge(parts, peeked, { ...denied, taken: 0 }, true));
  if (items.length === 0) return merge(parts, [], declared[0], true);
  return chain(limiter.takeMany(items as ManyItem<Decision>[]) as MaybePromise<ManyDecision>, (made) =>
    merge(parts, made.decisions, made, made.atomic),
  );
}

function peek({ limiter: own, key, cost, tier, keep, class: name }: ManyItem): MaybePromise<Decision> {
  return (own as NonNullable<ManyItem['limiter']>).peek(key, { cost, tier, keep, class: name });
}

/** Combines the decisions in the order of the parts. */
function merge(
  parts: readonly ManyPart[],
  made: readonly Decision[],
  limiting: Decision,
  atomic: boolean,
): ManyDecision {
  let next = 0;
  const decisions = parts.map((part) => {
    const decision = 'declared' in part ? part.declared : made[next++];
    return limiting.allowed || decision.taken === 0 ? decision : { ...decision, taken: 0 };
  });
  const taken = limiting.allowed ? decisions.reduce((sum, decision) => sum + decision.taken, 0) : 0;
  return { ...limiting, taken, atomic, decisions };
}
