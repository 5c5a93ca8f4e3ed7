/**
 * Parses the policies of a configuration. A policy is written as text or as a map with an algorithm. Several policies are written
 * as a list, or as a map from names to policies.
 */
import { createLimiter, type Policies, type Policy, SluiceError } from 'sluice';
import { isAlgorithm, makePolicy, NAMES } from './recipes.ts';
import type { Value } from './value.ts';

/** Parses one or more policies. Returns undefined if it reported a fault. */
export function readPolicies(value: Value): Policies | undefined {
  const policies = readParts(value);
  if (policies === undefined) return undefined;
  return tried(value, () => {
    // Creating a limiter also finds policies that are invalid only in combination.
    createLimiter(policies);
    return policies;
  });
}

function readParts(value: Value): Policies | undefined {
  if (value.isList) return readList(value);
  if (!value.isMap) return value.text('policies');
  const members = value.members('policies');
  if (members.has('algorithm')) return readPolicy(value, members);
  const named: Record<string, string | Policy> = {};
  let isWhole = members.size > 0;
  if (!isWhole) value.fault('at least one policy is required');
  for (const [name, member] of members) {
    const policy = readOne(member);
    if (policy === undefined) isWhole = false;
    // Defining the property instead of assigning it is safe for a policy named __proto__.
    else Object.defineProperty(named, name, { value: policy, enumerable: true });
  }
  return isWhole ? named : undefined;
}

function readList(value: Value): Policies | undefined {
  const items = value.list('policies');
  const policies = items.map(readOne);
  if (items.length === 0) return value.fault('at least one policy is required');
  return policies.every((policy) => policy !== undefined) ? policies : undefined;
}

function readOne(value: Value): string | Policy | undefined {
  if (value.isMap) return readPolicy(value, value.members('a policy'));
  const text = value.text('a policy');
  if (text === undefined) return undefined;
  return tried(value, () => {
    createLimiter(text);
    return text;
  });
}

function readPolicy(value: Value, members: Map<string, Value>): Policy | undefined {
  const names = NAMES.join(', ');
  const algorithm = members.get('algorithm');
  if (algorithm === undefined) return value.fault(`a policy must have an algorithm, one of ${names}`);
  const name = algorithm.text('algorithm');
  if (name === undefined) return undefined;
  if (!isAlgorithm(name))
    return algorithm.fault(`unknown algorithm ${JSON.stringify(name)}; must be one of ${names}`);
  const options: Record<string, unknown> = {};
  for (const [option, member] of members) {
    if (option === 'algorithm') continue;
    if (member.isMap || member.isList) return member.fault(`${option} must be a number or text`);
    Object.defineProperty(options, option, { value: member.plain ?? undefined, enumerable: true });
  }
  return tried(value, () => makePolicy(name, options), members);
}

/**
 * Calls `make` and turns a SluiceError into a fault. If the error names an option that is in the file, the fault points to that
 * option.
 */
function tried<T>(value: Value, make: () => T, members?: ReadonlyMap<string, Value>): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    const option = error.option.split('.').at(-1) ?? '';
    const member = members?.get(option);
    const at = error.code === 'ERR_UNKNOWN_OPTION' ? member?.name : member;
    return (at ?? value).fault(error.message);
  }
}

/** The policies as written in the file, on one line. */
export function showPolicies(value: Value): string {
  if (value.isList) return value.list('policies').map(showPolicies).join(' & ');
  if (!value.isMap) return String(value.plain);
  const members = value.members('policies');
  const algorithm = members.get('algorithm');
  const parts = [...members].filter(([name]) => name !== 'algorithm');
  const shown = parts.map(([name, member]) => `${name}: ${showPolicies(member)}`);
  return algorithm === undefined ? shown.join(' & ') : `${String(algorithm.plain)} { ${shown.join(', ')} }`;
}
