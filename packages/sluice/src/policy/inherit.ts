/**
 * Converts the state of a key when its limits change. A plan with `inherit` signs each row that it writes, by storing its numbers
 * after the policies' cells. These numbers tell a later plan under which limits the state was written.
 * stores/redis/lua/inherit.lua mirrors this file, with the same arithmetic in the same order.
 */
import type { Algorithm, Cells, Inheritance, Millis, PlacedPolicy, Plan } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import { numbered } from './layout.ts';

/**
 * How a key's state is converted when its limit changes. 'additive' keeps the used units, 'as-is' the remaining units,
 * 'proportional' the used fraction of the limit, and 'reset' nothing.
 */
export type Inherit = 'additive' | 'as-is' | 'proportional' | 'reset';

export const INHERIT: readonly Inherit[] = ['as-is', 'proportional', 'additive', 'reset'];

/** Extends a plan so that it converts rows that were written under the same name but under different limits. */
export function inheriting(plan: Plan, keeps: Inherit): Plan {
  // With 'reset', plans with different numbers share manual blocks, but not counts.
  if (keeps === 'reset') return { ...plan, signature: plan.signature + numbered(plan.id) };
  for (const { algorithm } of plan.policies) {
    // For 'additive', cells that count units need no conversion. An algorithm that counts denials has no units to keep.
    if (algorithm.inherit !== undefined || algorithm.countsDenials || keeps === 'additive') continue;
    const hint = `${algorithm.name} supports only 'additive' and 'reset'`;
    throw new SluiceError(
      'ERR_CHOICE',
      'createLimiter.inherit',
      keeps,
      hint,
      'must be supported by every policy',
    );
  }
  const isSigned = ({ inherit: spending }: Algorithm): boolean =>
    spending !== undefined && (keeps !== 'additive' || spending.unit !== undefined);
  const signed = plan.slots.filter(({ algorithm }) => isSigned(algorithm));
  // Rows that only count units need no conversion.
  if (signed.length === 0 && keeps === 'additive') return plan;
  const width = signatureWidth(keeps);
  return {
    ...plan,
    width: plan.width + width * signed.length,
    signature: `${plan.signature}+${keeps}`,
    inherit: {
      keeps,
      offset: plan.width,
      signedAt: plan.policies.map((policy) =>
        isSigned(policy.algorithm) ? plan.width + width * signed.indexOf(policy) : -1,
      ),
      isSigned,
      convert,
      sign,
      keptFor,
    },
  };
}

/**
 * Number of cells in a signature. 'additive' stores only the amount that one unit adds to the cells. 'proportional' also stores the
 * value of the cells when everything is spent. 'as-is' stores both, and the instant until which they are valid.
 */
function signatureWidth(keeps: Inheritance['keeps']): number {
  return keeps === 'additive' ? 1 : keeps === 'proportional' ? 2 : 3;
}

type InheritingPlan = Plan & { readonly inherit: Inheritance };

/** The maximum float error that accumulates over many conversions. It is far smaller than any cost that is used in practice. */
const NEAR = 1e-9;

type Spending = NonNullable<PlacedPolicy['algorithm']['inherit']>;

/** The amount by which one unit changes the cells. */
function unitOf({ algorithm, params }: PlacedPolicy): number {
  return algorithm.inherit?.unit?.(params) ?? 1;
}

/** Whether the policy's cells are unsigned, or signed with this policy's numbers. */
function isOwn(policy: PlacedPolicy, keeps: Inheritance['keeps'], row: Cells, signed: number): boolean {
  if (row[signed] === 0) return true;
  const unit = unitOf(policy);
  if (keeps === 'additive') return row[signed] === unit;
  return row[signed] === policy.algorithm.inherit?.full(policy.params) && row[signed + 1] === unit;
}

function isOwnRow({ policies, inherit }: InheritingPlan, cells: Cells, at: number): boolean {
  const { keeps, signedAt } = inherit;
  for (let i = 0; i < policies.length; i++)
    if (signedAt[i] >= 0 && !isOwn(policies[i], keeps, cells, at + signedAt[i])) return false;
  return true;
}

const convert: Inheritance['convert'] = (plan, cells, at, now) => {
  const own = plan as InheritingPlan;
  if (own.inherit.keeps !== 'as-is' && isOwnRow(own, cells, at)) return undefined;
  const row = cells.slice(at, at + plan.width);
  convertRow(own, row, now);
  return row;
};

/** Changes the row into one that this plan could have written. */
function convertRow({ policies, inherit }: InheritingPlan, row: Cells, now: Millis): void {
  const { keeps, signedAt } = inherit;
  for (let i = 0; i < policies.length; i++) {
    const signed = signedAt[i];
    if (signed < 0) continue;
    const policy = policies[i];
    const { algorithm, params, offset: start } = policy;
    // A row may be fully replenished under one plan but not under another. It counts as fresh once it is fully replenished under
    // all plans that wrote it.
    if (keeps === 'as-is' && row[signed + 2] <= now) {
      row.fill(0, start, start + algorithm.width(params));
      row.fill(0, signed, signed + 3);
    }
    if (isOwn(policy, keeps, row, signed)) continue;
    const spending = algorithm.inherit as Spending;
    algorithm.take(params, row, start, now, 0);
    if (keeps === 'additive') scale(spending, row, start, unitOf(policy), row[signed]);
    else if (keeps === 'proportional') scale(spending, row, start, spending.full(params), row[signed]);
    else keepLeft(policy, spending, row, now, row[signed], row[signed + 1]);
    signPolicy(policy, keeps, row, signed);
  }
}

/** Signs the cells of the policies if something was charged. For 'as-is', also records until when the signature is valid. */
const sign: Inheritance['sign'] = ({ plan, mode }, row, at, now, decision) => {
  const { policies, inherit } = plan as InheritingPlan;
  const { keeps, signedAt } = inherit;
  for (let i = 0; i < policies.length; i++) {
    if (signedAt[i] < 0) continue;
    const signed = at + signedAt[i];
    if (decision.taken > 0 || mode === 'always') signPolicy(policies[i], keeps, row, signed);
    if (keeps === 'as-is') row[signed + 2] = Math.max(row[signed + 2], now + decision.policies[i].resetAfter);
  }
};

function signPolicy(policy: PlacedPolicy, keeps: Inheritance['keeps'], row: Cells, signed: number): void {
  const unit = unitOf(policy);
  if (keeps === 'additive') row[signed] = unit;
  else {
    row[signed] = (policy.algorithm.inherit as Spending).full(policy.params);
    row[signed + 1] = unit;
  }
}

/** How much longer any of the plans that wrote the row needs it. */
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

/**
 * Rounds a number that is almost an integer, so that converting to another limit and back changes nothing. Without rounding, 10 of
 * 11 units converted to a limit of 5 and back would be slightly more than 10, and the key would lose a unit.
 */
function rounded(spent: number): number {
  const whole = Math.floor(spent + 0.5);
  return spent - whole < NEAR && whole - spent < NEAR ? whole : spent;
}

/** Keeps as many units available as before the change, but at most the new limit. */
function keepLeft(
  { algorithm, params, offset }: PlacedPolicy,
  spending: Spending,
  row: Cells,
  now: Millis,
  wasFull: number,
  wasUnit: number,
): void {
  const full = spending.full(params);
  const unit = spending.unit?.(params) ?? 1;
  const first = offset + spending.cells[0];
  const single = spending.cells.length === 1;
  const spent = single ? row[first] : full - algorithm.available(params, row, offset, now) * unit;
  const target = Math.max(0, full - ((wasFull - spent) * unit) / wasUnit);
  if (single || !(spent > 0)) row[first] = rounded(target);
  else scale(spending, row, offset, target, spent);
}
