/** Parses the classes of a limit. A class says how much of each policy its takes must leave free for other takes. */
import { createLimiter, type Policies, SluiceError } from 'sluice';
import type { Classes } from './model.ts';
import type { Value } from './value.ts';

type Keep = Classes[string]['keep'];

/**
 * `policies` is undefined if the limit's policies are invalid. In that case, the numbers and policy names in the classes are not
 * checked.
 */
export function readClasses(
  value: Value | undefined,
  policies: Policies | undefined,
  tiers: Readonly<Record<string, Policies>>,
): Classes {
  const classes: Record<string, { keep: Keep }> = {};
  for (const [name, member] of value?.members('classes') ?? []) {
    const given = member.members(`class ${JSON.stringify(name)}`, ['keep']).get('keep');
    if (given === undefined) {
      if (member.isMap) member.fault("a class must have 'keep'");
      continue;
    }
    const keep = readKeep(given, (part) => policies && faultIn(policies, tiers, part));
    if (keep !== undefined) Object.defineProperty(classes, name, { value: { keep }, enumerable: true });
  }
  return classes;
}

const KEEP = 'keep must be a number, or a map with a number for each policy';

/**
 * Parses one number for all policies, or a map with a number for each policy. `faultOf` returns an error message if a number or a
 * policy name is invalid.
 */
function readKeep(value: Value, faultOf: (keep: Keep) => string | undefined): Keep | undefined {
  if (!value.isMap) {
    const { plain } = value;
    return typeof plain === 'number'
      ? checked(value, plain, faultOf)
      : value.fault(`${KEEP}; got ${value.kind}`);
  }
  const keep: Record<string, number> = {};
  let isWhole = true;
  for (const [policy, part] of value.members('keep')) {
    const { plain } = part;
    const one = { [policy]: plain };
    if (typeof plain !== 'number') part.fault(`keep.${policy} must be a number; got ${part.kind}`);
    else if (checked(part, one as Keep, faultOf) !== undefined) {
      Object.defineProperty(keep, policy, { value: plain, enumerable: true });
      continue;
    }
    isWhole = false;
  }
  return isWhole ? keep : undefined;
}

function checked(value: Value, keep: Keep, faultOf: (keep: Keep) => string | undefined): Keep | undefined {
  const message = faultOf(keep);
  return message === undefined ? keep : value.fault(message);
}

/** Validates a class by creating a limiter with it, because the library knows which numbers and names are valid. */
function faultIn(
  policies: Policies,
  tiers: Readonly<Record<string, Policies>>,
  keep: Keep,
): string | undefined {
  try {
    createLimiter(policies, { tiers, classes: { class: { keep } } });
    return undefined;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return error.message.replace('createLimiter.classes.class.', '');
  }
}
