/**
 * Settles a charge when the response has been sent: adjusts the charge to the final cost, and releases the places that it holds.
 */
import type { Decision } from '../engine/contract.ts';
import { cost as checkCost } from '../internal/options.ts';
import type { Entry } from './charges.ts';
import type { Limit, Outcome } from './guard-options.ts';

export async function settleOne<Q>(
  request: Q,
  { charge: { limiter, key, cost, tier }, decision }: Entry,
  { settle }: Limit<Q>,
  outcome: Outcome,
): Promise<void> {
  const release = async (held: number, of: Decision): Promise<void> => {
    if (held > 0 && of.held === true) await limiter.release(key, { cost: held, tier, of });
  };
  let held = cost;
  let extra: Decision | undefined;
  try {
    const final = checkCost((await settle?.(request, outcome)) ?? cost, 'settle');
    if (final > cost)
      extra = await limiter.take(key, { cost: final - cost, tier, mode: 'always', maxDelay: Infinity });
    if (final < cost) {
      // A refund also releases what it gives back. Even a failed refund may have done so: never release it twice.
      held = final;
      await limiter.refund(key, { cost: cost - final, tier, of: decision });
    }
  } finally {
    // Release each part where it was charged: the store may have failed or recovered in between.
    const released = [release(held, decision)];
    if (extra !== undefined) released.push(release(extra.taken, extra));
    await Promise.all(released);
  }
}
