/**
 * The layout that the script of a plan needs: where the policies' cells are in the row, and where their numbers are in the head.
 */
import type { Millis, PlacedPolicy, Plan } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { ALGORITHMS } from './lua.ts';

/** An algorithm's Lua file, as scripts/bundle-lua.mjs has prepared it. */
export interface LuaAlgorithm {
  /** Names of the params, in the order in which the script receives them. */
  readonly params: readonly string[];
  readonly cells: readonly string[];
  /** Algorithms whose modules this one uses. */
  readonly includes: readonly string[];
  /** A chunk that returns the table of the algorithm's functions. */
  readonly module: string;
  /** The statements of each function, for the lean path. Empty for variable-length rows. */
  readonly inlined: Readonly<Record<string, string>>;
}

/** A policy that has cells in the row. */
export interface Slot {
  readonly policy: PlacedPolicy;
  /**
   * The code of the algorithm. Undefined if only other tiers use this policy. In that case, the script keeps the policy's cells,
   * but does not contain the code of its algorithm.
   */
  readonly code: LuaAlgorithm | undefined;
  readonly cells: readonly string[];
  /**
   * Names of the numbers that sign the policy's cells (see lua/inherit.lua). Of these, only `full` and `unit` are in the head.
   */
  readonly signature: readonly string[];
  /** For each param of the policy, its index among the numbers in the script's head argument (see lua/main.lua). */
  readonly params: Readonly<Record<string, number>>;
  /** The indexes of `full` and `unit` among the numbers in the head. */
  readonly own: Readonly<Record<string, number>>;
}

export interface Layout {
  /** All policies that have cells in the row, in the order of the row. */
  readonly slots: readonly Slot[];
  /** The policies that decide, in the plan's order. */
  readonly asked: readonly Slot[];
  readonly isVariable: boolean;
  readonly inherit: 'additive' | 'as-is' | 'proportional' | undefined;
  /** How `lua/main.lua` unpacks the head. */
  readonly headFormat: string;
  readonly headLength: number;
}

/** Index of the first of the policies' numbers in the unpacked head, after the mark and the cost. */
const FIRST_NUMBER = 3;
const MARK_LENGTH = 3;

/** Packs the mark, the cost and the policies' numbers, as described in `lua/main.lua`, followed by the options. */
export function headOf(plan: Plan, mark: string, cost: number, options: string, now: Millis): Buffer {
  const numbers = [cost, ...plan.policies.flatMap((policy) => numbersOf(policy, now)), ...signaturesOf(plan)];
  const text = MARK_LENGTH + 8 * numbers.length;
  const head = Buffer.alloc(text + options.length);
  head.write(mark, 'latin1');
  for (const [i, number] of numbers.entries()) head.writeDoubleLE(number, MARK_LENGTH + 8 * i);
  head.write(options, text, 'latin1');
  return head;
}

/** The numbers with which the policies sign their cells. */
function signaturesOf({ policies, inherit }: Plan): number[] {
  return policies.flatMap(({ algorithm, params }) => {
    if (inherit?.isSigned(algorithm) !== true) return [];
    const unit = algorithm.inherit?.unit?.(params) ?? 1;
    return inherit.keeps === 'additive' ? [unit] : [algorithm.inherit?.full(params) ?? 0, unit];
  });
}

function numbersOf({ algorithm, params }: PlacedPolicy, now: Millis): readonly number[] {
  return (
    algorithm.redis?.args(params, now) ?? codeOf(algorithm.name).params.map((name) => Number(params[name]))
  );
}

export function codeOf(algorithm: string): LuaAlgorithm {
  const code = ALGORITHMS[algorithm];
  if (code === undefined)
    throw new SluiceError(
      'ERR_POLICY',
      'policies',
      algorithm,
      '',
      'must use algorithms that have a Lua script',
    );
  return code;
}

export function layoutOf({ policies, slots, inherit }: Plan): Layout {
  let number = FIRST_NUMBER;
  const numbered = (names: readonly string[]): Record<string, number> =>
    Object.fromEntries(names.map((name) => [name, number++]));
  const signatureOf = ({ algorithm }: PlacedPolicy): string[] => {
    if (inherit?.isSigned(algorithm) !== true) return [];
    if (inherit.keeps === 'additive') return ['unit'];
    return inherit.keeps === 'as-is' ? ['full', 'unit', 'kept_until'] : ['full', 'unit'];
  };
  const withParams = policies.map((policy) => {
    const code = codeOf(policy.algorithm.name);
    return { policy, code, cells: policy.grows ? [] : code.cells, params: numbered(code.params) };
  });
  const asked: readonly Slot[] = withParams.map((slot) => {
    const signature = signatureOf(slot.policy);
    return { ...slot, signature, own: numbered(signature.filter((name) => name !== 'kept_until')) };
  });
  const all = slots.map((policy): Slot => {
    // The slot is found by its offset, because leased plans use different objects for the same policies.
    const own = asked.find((slot) => slot.policy.offset === policy.offset);
    if (own !== undefined) return own;
    const width = policy.grows ? 0 : policy.algorithm.width(policy.params);
    const cells = Array.from({ length: width }, (_, i) => `cell${i + 1}`);
    return { policy, code: undefined, cells, signature: signatureOf(policy), params: {}, own: {} };
  });
  const doubles = number - FIRST_NUMBER + 1;
  return {
    slots: all,
    asked,
    isVariable: slots.some(({ grows }) => grows),
    inherit: inherit?.keeps,
    headFormat: `<c${MARK_LENGTH}${'d'.repeat(doubles)}`,
    headLength: MARK_LENGTH + 8 * doubles,
  };
}
