/** Validates options. Each function throws a SluiceError that names the option and shows the value that it received. */
import { SluiceError, type Store } from 'sluice';

/** Throws if the object has an unknown option, so that a misspelled one is never ignored. */
export function checkOptionNames<T extends object>(
  what: string,
  options: T,
  names: readonly (keyof T & string)[],
): T {
  if (typeof options !== 'object' || options === null) throw new SluiceError('ERR_OPTIONS', what, options);
  for (const name of Object.keys(options)) {
    if (!(names as readonly string[]).includes(name))
      throw new SluiceError(
        'ERR_UNKNOWN_OPTION',
        `${what}.${name}`,
        options[name as keyof T],
        `known: ${names.join(', ')}`,
      );
  }
  return options;
}

export function positive(option: string, value: unknown): number {
  if (value === undefined) throw new SluiceError('ERR_MISSING_OPTION', option, value);
  if (typeof value !== 'number' || !(value > 0) || value === Infinity)
    throw new SluiceError('ERR_NUMBER', option, value);
  return value;
}

export function notNegative(option: string, value: unknown): number {
  return value === 0 ? 0 : positive(option, value);
}

export function atLeastOne(option: string, value: unknown): number {
  if (positive(option, value) < 1)
    throw new SluiceError('ERR_NUMBER', option, value, '', 'must be a finite number, 1 or more');
  return value as number;
}

export function whole(option: string, value: unknown): number {
  if (value === undefined) throw new SluiceError('ERR_MISSING_OPTION', option, value);
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    throw new SluiceError('ERR_INTEGER', option, value);
  return value as number;
}

export function oneOf<T extends string>(option: string, value: unknown, choices: readonly T[]): T {
  if (!choices.includes(value as T)) throw new SluiceError('ERR_CHOICE', option, value, choices.join(', '));
  return value as T;
}

/** The maximum cost. Up to this number, every integer is exact in a float64. */
const MAX_COST = 2 ** 53;

export function cost(option: string, value: unknown): number {
  if (typeof value !== 'number' || !(value >= 0) || value === Infinity)
    throw new SluiceError('ERR_COST', option, value);
  if (value > MAX_COST) throw new SluiceError('ERR_COST', option, value, 'at most 2 ** 53');
  return value;
}

/**
 * Returns the value if it is a store. Clients of Redis and Postgres, and functions that create stores, are rejected with a hint.
 */
export function storeIn<S extends Store>(option: string, value: S): S {
  if (typeof value === 'object' && has(value, 'apply')) return value;
  const words = 'must be a store, such as memory() or redis(client)';
  throw new SluiceError('ERR_OPTIONS', option, value, storeHint(value), words);
}

function storeHint(value: unknown): string {
  if (['sendCommand', 'customCommand', 'send'].some((method) => has(value, method)))
    return "wrap the client: redis(client) from 'sluice/redis'";
  if (has(value, 'query') || has(value, 'unsafe'))
    return "wrap the client: postgres(pool) from 'sluice/postgres'";
  if (typeof value === 'function') return `call it: ${value.name}()`;
  return typeof value === 'string' ? "connect a client, and wrap it: redis(client) from 'sluice/redis'" : '';
}

function has(value: unknown, method: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[method] === 'function';
}
