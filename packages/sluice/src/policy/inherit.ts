/**
 * A change of numbers under running state. A plan that inherits signs what it writes with its numbers, behind the
 * policies' cells, so that the next one can tell what the state was worth.
 *
 * stores/redis/lua/inherit.lua mirrors this: the same arithmetic in the same order.
 */
import type {
  Algorithm,
  Cells,
  Decision,
  Hit,
  Inheritance,
  Millis,
  Mode,
  PlacedPolicy,
  Plan,
} from '../engine/contract.ts';
import { isFresh } from '../engine/decide.ts';
import { SluiceError } from '../internal/errors.ts';
import { numbered } from './layout.ts';

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
    if (algorithm.inherit !== undefined || algorithm.countsDenials || keeps === 'additive') continue;
    const hint = `${algorithm.name} has only 'additive' and 'reset'`;
    throw new SluiceError('ERR_CHOICE', 'createLimiter.inherit', keeps, hint);
  }
  const isSigned = ({ inherit: spending }: Algorithm): boolean =>
    spending !== undefined && (keeps !== 'additive' || spending.unit !== undefined);
  const signed = plan.slots.filter(({ algorithm }) => isSigned(algorithm));
  // Rows that count units are additive as they are.
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
      decide,
      keptFor,
    },
  };
}

/** Numbers in a signature: the unit; or full and unit and, where it is the units left that stay, until when they matter. */
function signatureWidth(keeps: Inheritance['keeps']): number {
  return keeps === 'additive' ? 1 : keeps === 'proportional' ? 2 : 3;
}

const decide: Inheritance['decide'] = (inner, hit, cells, at, now, blockedUntil, grown) => {
  const plan = hit.plan as Taker;
  if (plan.inherit.keeps !== 'as-is' && isOwnRow(plan, cells, at)) {
    const decision = inner(hit, cells, at, now, blockedUntil, grown);
    if (writes(hit, decision, blockedUntil > now)) sign(plan, cells, at, decision, hit.mode, now);
    return decision;
  }
  // On a copy: what does not write must not convert either.
  const row = cells.slice(at, at + plan.width);
  convert(plan, row, now);
  const idle = (hit.verb === 'refund' || hit.verb === 'release') && isFresh(plan, row, 0);
  const decision = inner(hit, row, 0, now, blockedUntil, grown);
  if (idle || !writes(hit, decision, blockedUntil > now)) return decision;
  sign(plan, row, 0, decision, hit.mode, now);
  cells.set(row, at);
  return decision;
};

type Taker = Plan & { readonly inherit: Inheritance };

/** Float error of many conversions, and far less than anybody counts in. */
const NEAR = 1e-9;

type Spending = NonNullable<PlacedPolicy['algorithm']['inherit']>;

/** What one unit costs, in the unit of the cells. */
function unitOf({ algorithm, params }: PlacedPolicy): number {
  return algorithm.inherit?.unit?.(params) ?? 1;
}

/** Whether nothing, or these numbers, signed the policy's cells. */
function isOwn(policy: PlacedPolicy, keeps: Inheritance['keeps'], row: Cells, signed: number): boolean {
  if (row[signed] === 0) return true;
  const unit = unitOf(policy);
  if (keeps === 'additive') return row[signed] === unit;
  return row[signed] === policy.algorithm.inherit?.full(policy.params) && row[signed + 1] === unit;
}

function isOwnRow({ policies, inherit }: Taker, cells: Cells, at: number): boolean {
  const { keeps, signedAt } = inherit;
  for (let i = 0; i < policies.length; i++)
    if (signedAt[i] >= 0 && !isOwn(policies[i], keeps, cells, at + signedAt[i])) return false;
  return true;
}

/** Makes the row one that this plan could have written. */
function convert({ policies, inherit }: Taker, row: Cells, now: Millis): void {
  const { keeps, signedAt } = inherit;
  for (let i = 0; i < policies.length; i++) {
    const signed = signedAt[i];
    if (signed < 0) continue;
    const policy = policies[i];
    const { algorithm, params, offset: start } = policy;
    // Full by one plan may be half by another: it is fresh once it is clear by all that wrote it.
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

/** Once something was charged, under which numbers that was; and until when that matters. */
function sign(
  { policies, inherit }: Taker,
  row: Cells,
  at: number,
  decision: Decision,
  mode: Mode,
  now: Millis,
): void {
  const { keeps, signedAt } = inherit;
  for (let i = 0; i < policies.length; i++) {
    if (signedAt[i] < 0) continue;
    const signed = at + signedAt[i];
    if (decision.taken > 0 || mode === 'always') signPolicy(policies[i], keeps, row, signed);
    if (keeps === 'as-is') row[signed + 2] = Math.max(row[signed + 2], now + decision.policies[i].resetAfter);
  }
}

function signPolicy(policy: PlacedPolicy, keeps: Inheritance['keeps'], row: Cells, signed: number): void {
  const unit = unitOf(policy);
  if (keeps === 'additive') row[signed] = unit;
  else {
    row[signed] = (policy.algorithm.inherit as Spending).full(policy.params);
    row[signed + 1] = unit;
  }
}

function writes({ verb, plan, mode }: Hit, { taken, allowed }: Decision, blocked: boolean): boolean {
  if (verb === 'peek' || verb === 'reset') return false;
  if (verb !== 'take' && verb !== 'reserve') return true;
  // In mode 'always' some policies may be charged where others are not: `taken` is what all of them were charged.
  if (taken > 0 || mode === 'always') return true;
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
  const unit = spending.unit?.(params) ?? 1;
  const first = offset + spending.cells[0];
  const single = spending.cells.length === 1;
  const spent = single ? row[first] : full - algorithm.available(params, row, offset, now) * unit;
  const target = Math.max(0, full - ((wasFull - spent) * unit) / wasUnit);
  if (single || !(spent > 0)) row[first] = rounded(target);
  else scale(spending, row, offset, target, spent);
}
