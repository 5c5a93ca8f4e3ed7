/**
 * Settles a charge when the response has been sent: adjusts the charge to the final cost, and releases the places that it holds.
 */
import type { Decision, MaybePromise } from '../engine/contract.ts';
import { cost as checkCost } from '../internal/options.ts';
import type { AnyLimiter, ByPolicy } from '../limiter/api.ts';
import { type Entry, givenBack } from './charges.ts';
import type { GuardLimiter } from './guard-options.ts';

/** `finalCost` returns undefined if the charged cost is kept. */
export async function settleOne(
  entry: Entry,
  finalCost: () => MaybePromise<ByPolicy | undefined>,
): Promise<void> {
  const { charge, decision } = entry;
  const { key, cost, tier } = charge;
  const limiter: GuardLimiter & Partial<Pick<AnyLimiter, 'settle'>> = charge.limiter;
  if (limiter.settle === undefined) return settleByParts(entry, finalCost);
  try {
    const used = await finalCost();
    if (used !== undefined && used !== cost) await limiter.settle(key, { used, tier, of: decision });
  } finally {
    if (decision.held === true) await limiter.release(key, givenBack(entry.charge, entry.decision));
  }
}

/** Settles a charge of a limiter without `settle`, whose costs must be numbers. */
async function settleByParts(
  { charge: { limiter, key, cost, tier }, decision }: Entry,
  finalCost: () => MaybePromise<ByPolicy | undefined>,
): Promise<void> {
  const release = async (held: number | undefined, of: Decision): Promise<void> => {
    if (held !== 0 && of.held === true) await limiter.release(key, { cost: held, tier, of });
  };
  let held = typeof cost === 'number' ? cost : undefined;
  let extra: Decision | undefined;
  try {
    const used = await finalCost();
    if (used === undefined) return;
    const final = checkCost(used, 'settle');
    const more = final - checkCost(cost);
    if (more > 0) extra = await limiter.take(key, { cost: more, tier, mode: 'always', maxDelay: Infinity });
    if (more < 0) {
      // A refund also releases what it gives back. Even a failed refund may have done so: never release it twice.
      held = final;
      await limiter.refund(key, { cost: -more, tier, of: decision });
    }
  } finally {
    // Release each part where it was charged: the store may have failed or recovered in between.
    const released = [release(held, decision)];
    if (extra !== undefined) released.push(release(extra.taken, extra));
    await Promise.all(released);
  }
}
