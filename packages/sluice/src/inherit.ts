/**
 * A change of numbers under running state. A plan that inherits signs what it writes with its numbers, behind the
 * policies' cells, so that the next one can tell what the state was worth.
 *
 * tail.lua and stores/redis/script.ts mirror this: the same arithmetic in the same order.
 */
import type { Cells, Decision, Hit, Inheritance, Millis, PlacedPolicy, Plan } from './contract.ts';
import { isFresh } from './engine.ts';
import { SluiceError } from './errors.ts';
import { numbered } from './placement.ts';

/**
 * What of a key's state stays when its limit changes: what was used ('additive'), what was left ('as-is'), the share of it
 * ('proportional'), or nothing ('reset').
 */
export type Inherit = 'additive' | 'as-is' | 'proportional' | 'reset';

export const INHERIT: readonly Inherit[] = ['as-is', 'proportional', 'additive', 'reset'];

/** The plan, taking over what other numbers wrote under its name. */
export function inheriting(plan: Plan, keeps: Inherit): Plan {
  // After a 'reset' no count is shared, only manual blocks.
  if (keeps === 'reset') return { ...plan, signature: plan.signature + numbered(plan.id) };
  for (const { algorithm } of plan.policies) {
    // What records units is additive as it is; what only watches others has none to keep.
    if (algorithm.spending !== undefined || algorithm.countsDenials || keeps === 'additive') continue;
    const hint = `${algorithm.name} has only 'additive' and 'reset'`;
    throw new SluiceError('ERR_CHOICE', 'createLimiter.inherit', keeps, hint);
  }
  const signed = plan.policies.filter(({ algorithm }) => algorithm.spending !== undefined);
  return {
    ...plan,
    width: plan.width + signatureWidth(keeps) * signed.length,
    signature: `${plan.signature}+${keeps}`,
    inherit: { keeps, offset: plan.width, decide, keptFor },
  };
}

/** On a copy: what does not write must not convert either. */
const decide: Inheritance['decide'] = (inner, hit, cells, at, now, blockedUntil, grown) => {
  const plan = hit.plan as Taker;
  const row = cells.slice(at, at + plan.width);
  convert(plan, row, now);
  const idle = (hit.verb === 'refund' || hit.verb === 'release') && isFresh(plan, row, 0);
  const decision = inner(hit, row, 0, now, blockedUntil, grown);
  if (idle || !writes(hit, decision, blockedUntil > now)) return decision;
  sign(plan, row, decision, now);
  cells.set(row, at);
  return decision;
};

type Taker = Plan & { readonly inherit: Inheritance };

/** Float error of many conversions, and far less than anybody counts in. */
const NEAR = 1e-9;

type Spending = NonNullable<PlacedPolicy['algorithm']['spending']>;

/** A signature: full, unit and, where it is the units left that stay, until when the policy's part is not clear. */
function signatureWidth(keeps: Inheritance['keeps']): number {
  return keeps === 'as-is' ? 3 : 2;
}

/** Makes the row one that this plan could have written. What is signed with the same numbers, or not at all, stays. */
function convert({ policies, inherit }: Taker, row: Cells, now: Millis): void {
  const { keeps, offset } = inherit;
  let at = offset;
  for (const policy of policies) {
    const { algorithm, params, offset: start } = policy;
    const { spending } = algorithm;
    if (spending === undefined) continue;
    const full = spending.full(params);
    const unit = spending.unit(params);
    // Full by one plan may be half by another: it is fresh once it is clear by all that wrote it.
    if (keeps === 'as-is' && row[at + 2] <= now) {
      row.fill(0, start, start + algorithm.width(params));
      row.fill(0, at, at + 3);
    }
    if (row[at] !== 0 && (row[at] !== full || row[at + 1] !== unit)) {
      algorithm.take(params, row, start, now, 0);
      if (keeps === 'additive') scale(spending, row, start, unit, row[at + 1]);
      else if (keeps === 'proportional') scale(spending, row, start, full, row[at]);
      else keepLeft(policy, spending, row, now, row[at], row[at + 1]);
      row[at] = full;
      row[at + 1] = unit;
    }
    at += signatureWidth(keeps);
  }
}

/** Once something was charged, under which numbers that was; and until when that matters. */
function sign({ policies, inherit }: Taker, row: Cells, decision: Decision, now: Millis): void {
  const { keeps, offset } = inherit;
  let at = offset;
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, params } = policies[i];
    if (algorithm.spending === undefined) continue;
    if (decision.taken > 0) {
      row[at] = algorithm.spending.full(params);
      row[at + 1] = algorithm.spending.unit(params);
    }
    if (keeps === 'as-is') row[at + 2] = Math.max(row[at + 2], now + decision.policies[i].resetAfter);
    at += signatureWidth(keeps);
  }
}

function writes({ verb, plan }: Hit, { taken, allowed }: Decision, blocked: boolean): boolean {
  if (verb === 'peek' || verb === 'reset') return false;
  if (verb !== 'take' && verb !== 'reserve') return true;
  if (taken > 0) return true;
  return verb === 'take' && !allowed && !blocked && plan.policies.some((p) => p.algorithm.countsDenials);
}

/** How much longer a row is needed by any plan that wrote it. */
function keptFor({ width, inherit }: Plan, cells: Cells, start: number, now: Millis): Millis {
  const { keeps, offset } = inherit as Inheritance;
  let longest = 0;
  if (keeps === 'as-is')
    for (let at = offset + 2; at < width; at += 3) longest = Math.max(longest, cells[start + at] - now);
  return longest;
}

function scale({ cells }: Spending, row: Cells, start: number, to: number, from: number): void {
  for (const cell of cells) row[start + cell] = rounded((row[start + cell] * to) / from);
}

/** There and back must leave no trace: 10 of 11 as a share of 5 and again of 11 is more than 10, and would cost a unit. */
function rounded(spent: number): number {
  const whole = Math.floor(spent + 0.5);
  return spent - whole < NEAR && whole - spent < NEAR ? whole : spent;
}

/** As many units as were left; full if that is less. */
function keepLeft(
  { algorithm, params, offset }: PlacedPolicy,
  spending: Spending,
  row: Cells,
  now: Millis,
  wasFull: number,
  wasUnit: number,
): void {
  const full = spending.full(params);
  const unit = spending.unit(params);
  const first = offset + spending.cells[0];
  const single = spending.cells.length === 1;
  const spent = single ? row[first] : full - algorithm.available(params, row, offset, now) * unit;
  const target = Math.max(0, full - ((wasFull - spent) * unit) / wasUnit);
  if (single || !(spent > 0)) row[first] = rounded(target);
  else scale(spending, row, offset, target, spent);
}
