/**
 * Settles a charge when the response has been sent: adjusts the charge to the final cost, and releases the places that it holds.
 */
import type { Decision, MaybePromise } from '../engine/contract.ts';
import { cost as checkCost } from '../internal/options.ts';
import type { AnyLimiter, ByPolicy } from '../limiter/api.ts';
import { type Entry, givenBack } from './charges.ts';
import type { GuardLimiter } from './guard-options.ts';

/** Settles one charge. `finalCost` returns undefined to keep the charged cost. */
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
      // A refund also releases the places that it gives back. Even a refund that failed may have released them, so they must not be
      // released again.
      held = final;
      await limiter.refund(key, { cost: -more, tier, of: decision });
    }
  } finally {
    // Release each part with the decision that charged it, because the store may have failed or recovered between the two charges.
    const released = [release(held, decision)];
    if (extra !== undefined) released.push(release(extra.taken, extra));
    await Promise.all(released);
  }
}
