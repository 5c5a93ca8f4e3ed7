/**
 * Turns the script's reply into decisions. The reply contains the row's cells as they are after each hit, and the engine computes
 * the remaining units from them, as it does for the memory store. This saves work on the server, and makes the Redis store and the
 * memory store agree. `lua/main.lua` describes the layout.
 */
import type { Cost, Decision, VariableRows, Hit, Plan } from '../../engine/contract.ts';
import { costAt, isChargedCosts, isHolding } from '../../engine/charge.ts';
import { askedFor, describe, hasMore } from '../../engine/decide.ts';
import { bookedDecision, decisionOf, heldDecision, policyState, unitsOf } from '../../engine/decision.ts';
import { StoreError } from '../../internal/errors.ts';

/**
 * Outcomes of a hit, in this order: the hit passed; the outcome is in the details that follow; the hit was denied, and the row
 * follows in its stored form; the hit passed, and the row follows in its stored form.
 */
const PASSED = '1'.charCodeAt(0);
const DETAILED = '2'.charCodeAt(0);
const STORED = '3'.charCodeAt(0);
const STORED_PASSED = '4'.charCodeAt(0);
/** Bytes of a row before its cells: the mark and the expiry. */
const BEFORE_CELLS = 11;

/** Stands in for the variable-length rows, which stay on the server. */
const NO_ROWS: VariableRows = { get: () => new Float64Array(), put: () => 0 };

/** Returns a function that reads the reply hit by hit, in the order in which the hits were sent. */
export function decisionsIn(reply: unknown, plan: Plan): (hit: Hit) => Decision {
  const bytes = bytesOf(reply);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { policies, slots, width } = plan;
  const grows = slots.some((policy) => policy.grows);
  const holding = policies.findIndex(isHolding);
  const isDated = holding >= 0;
  const cells = new Float64Array(width);
  let at = 0;
  const double = (): number => {
    at += 8;
    return view.getFloat64(at - 8, true);
  };
  const now = double();

  /** What a take of this cost has charged, if it passed. */
  const takenIn = (cost: Cost): number =>
    typeof cost === 'number' ? cost : Math.max(0, ...cost.filter((_, i) => isChargedCosts(policies[i])));

  return (hit) => {
    const outcome = bytes[at++];
    const detailed = outcome === DETAILED;
    const allowed = detailed ? double() === 1 : outcome === PASSED || outcome === STORED_PASSED;
    const cost = allowed && hit.verb === 'take' ? hit.cost : 0;
    const taken = detailed ? double() : takenIn(cost);
    const block = detailed ? double() : 0;
    const delay = detailed ? double() : 0;
    const parts = detailed ? policies.map(double) : cost;
    let decision: Decision;
    if (grows) {
      const numbers = policies.map(({ limit }) => {
        const remaining = unitsOf(double(), limit);
        const wait = double();
        return { remaining, retryAfter: allowed ? 0 : wait, resetAfter: double() };
      });
      const states = policies.map((policy, i) => {
        const { remaining, retryAfter, resetAfter } = numbers[i];
        const part = isChargedCosts(policy) ? costAt(parts, i) : 0;
        const more = policy.refill ?? double();
        const refill = policy.refill === undefined && !hasMore(remaining, policy.limit) ? Infinity : more;
        return policyState(policy, remaining, retryAfter, resetAfter, refill, part);
      });
      decision = decisionOf(states, block, allowed, taken, taken > 0 ? now : undefined);
      const takenAt = isDated ? double() : 0;
      if (isDated && costAt(parts, holding) > 0) decision = heldDecision(decision, takenAt);
    } else {
      if (outcome >= STORED) at += BEFORE_CELLS;
      for (let i = 0; i < width; i++) cells[i] = double();
      decision = describe(policies, cells, 0, now, NO_ROWS, block, allowed, taken, parts, askedFor(hit));
    }
    // If a turn was booked for later, the decision's wait is the time until that turn.
    return delay > 0 ? bookedDecision(decision, delay) : decision;
  };
}

/** Returns a reply as bytes. The reply may be bytes or hexadecimal text. */
function bytesOf(reply: unknown): Uint8Array {
  const bytes = typeof reply === 'string' ? Buffer.from(reply, 'hex') : reply;
  if (!(bytes instanceof Uint8Array)) throw new StoreError(`unexpected reply of type ${typeof reply}`);
  return bytes;
}
