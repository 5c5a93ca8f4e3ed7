/** The layout that the script of a plan needs: where the policies' cells are in the row, and their numbers in ARGV. */
import type { Millis, PlacedPolicy, Plan } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { ALGORITHMS, type LuaAlgorithm } from './lua.ts';

/** A policy that has cells in the row. */
export interface Slot {
  readonly policy: PlacedPolicy;
  /**
   * The code of the algorithm. Undefined if only other tiers use this policy. The script keeps its cells, but does not contain
   * its code.
   */
  readonly code: LuaAlgorithm | undefined;
  readonly cells: readonly string[];
  /** The numbers that sign the policy's cells, of which it sends `full` and `unit` (see lua/inherit.lua). */
  readonly signature: readonly string[];
  /** Indexes of the policy's params in ARGV, by name. */
  readonly params: Readonly<Record<string, number>>;
  /** Indexes of `full` and `unit` in ARGV. */
  readonly own: Readonly<Record<string, number>>;
}

export interface Layout {
  /** All policies that have cells in the row, in the order of the row. */
  readonly slots: readonly Slot[];
  /** The policies that decide, in the plan's order. */
  readonly asked: readonly Slot[];
  readonly isVariable: boolean;
  readonly inherit: 'additive' | 'as-is' | 'proportional' | undefined;
  /** The index in ARGV of the last number. */
  readonly lastNumber: number;
}

/** Index in ARGV of the first number, after the time and the mark. */
const FIRST_NUMBER = 3;

/** The numbers that are sent with each call. They are strings, because a client would take longer to convert them. */
export function argsOf({ policies, inherit }: Plan, now: Millis): string[] {
  const numbers = policies.flatMap((policy) => numbersOf(policy, now));
  for (const { algorithm, params } of policies) {
    if (inherit?.isSigned(algorithm) !== true) continue;
    if (inherit.keeps !== 'additive') numbers.push(algorithm.inherit?.full(params) ?? 0);
    numbers.push(algorithm.inherit?.unit?.(params) ?? 1);
  }
  return numbers.map(String);
}

function numbersOf({ algorithm, params }: PlacedPolicy, now: Millis): readonly number[] {
  return (
    algorithm.redis?.args(params, now) ?? codeOf(algorithm.name).params.map((name) => Number(params[name]))
  );
}

export function codeOf(algorithm: string): LuaAlgorithm {
  const code = ALGORITHMS[algorithm];
  if (code === undefined)
    throw new SluiceError('ERR_POLICY', 'policies', algorithm, 'this algorithm has no script');
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
    // Found by offset, because leased plans have other objects for the same policies.
    const own = asked.find((slot) => slot.policy.offset === policy.offset);
    if (own !== undefined) return own;
    const width = policy.grows ? 0 : policy.algorithm.width(policy.params);
    const cells = Array.from({ length: width }, (_, i) => `cell${i + 1}`);
    return { policy, code: undefined, cells, signature: signatureOf(policy), params: {}, own: {} };
  });
  return {
    slots: all,
    asked,
    isVariable: slots.some(({ grows }) => grows),
    inherit: inherit?.keeps,
    lastNumber: number - 1,
  };
}
