/** Validates options. Each check throws a SluiceError that names the option and shows the value. */
import { spelled } from './duration.ts';
import { SluiceError } from './errors.ts';

/** Rejects unknown names, so that a misspelled option is not silently ignored. */
export function checkOptionNames<T extends object>(
  what: string,
  options: T,
  names: readonly (keyof T & string)[],
): T {
  if (typeof options !== 'object' || options === null) throw new SluiceError('ERR_OPTIONS', what, options);
  for (const name of Object.keys(options)) {
    if (!(names as readonly string[]).includes(name)) {
      throw new SluiceError(
        'ERR_UNKNOWN_OPTION',
        `${what}.${name}`,
        options[name as keyof T],
        `known: ${names.join(', ')}`,
      );
    }
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
    throw new SluiceError('ERR_NUMBER', option, value, '', 'must be at least 1');
  return value as number;
}

/**
 * Validates the limit of a window. With a limit below 1, nothing would ever be allowed, so the error says how to write the same
 * rate.
 */
export function perWindow(option: string, limit: unknown, window: number): number {
  const units = positive(option, limit);
  if (units >= 1) return units;
  const hint = `for the same rate, use a limit of 1 per '${spelled(window / units)}'`;
  throw new SluiceError('ERR_NUMBER', option, limit, hint, 'must be at least 1');
}

export function whole(option: string, value: unknown): number {
  if (value === undefined) throw new SluiceError('ERR_MISSING_OPTION', option, value);
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    throw new SluiceError('ERR_INTEGER', option, value);
  return value as number;
}

/** Validates an integer, or Infinity for no bound. */
export function bound(option: string, value: unknown): number {
  return value === Infinity ? value : whole(option, value);
}

export function oneOf<T extends string>(option: string, value: unknown, choices: readonly T[]): T {
  if (!choices.includes(value as T)) throw new SluiceError('ERR_CHOICE', option, value, choices.join(', '));
  return value as T;
}

export function listOf<T>(option: string, value: readonly T[]): readonly T[] {
  if (!Array.isArray(value)) throw new SluiceError('ERR_OPTIONS', option, value, '', 'must be a list');
  return value;
}

/** Rejects every option in `names` whose value is neither undefined nor a function. */
export function functions<T extends object>(
  what: string,
  options: T,
  names: readonly (keyof T & string)[],
): void {
  for (const name of names)
    if (options[name] !== undefined && typeof options[name] !== 'function')
      throw new SluiceError('ERR_OPTIONS', `${what}.${name}`, options[name], '', 'must be a function');
}

/** The maximum cost. Up to this number, every integer is exact in a float64, and no sum or product overflows. */
const MAX_COST = 2 ** 53;

export function cost(value: unknown, option = 'cost'): number {
  if (typeof value !== 'number' || !(value >= 0) || value === Infinity)
    throw new SluiceError('ERR_COST', option, value);
  if (value > MAX_COST) throw new SluiceError('ERR_COST', option, value, '', 'must be at most 2 ** 53');
  return value;
}

const KEY_HINTS: Readonly<Record<string, string>> = {
  undefined: 'such as a user id or an address',
  number: 'use String()',
};

export function keyOf(value: unknown, option = 'key'): string {
  if (typeof value !== 'string') throw new SluiceError('ERR_KEY', option, value, KEY_HINTS[typeof value]);
  return value;
}

/** Returns the value if it is a store. A client of a database, or a function that creates a store, is rejected with a hint. */
export function storeIn<S>(option: string, value: S): S {
  if (typeof value === 'object' && has(value, 'apply')) return value;
  const words = 'must be a store, such as memory() or redis(client)';
  throw new SluiceError('ERR_OPTIONS', option, value, storeHint(value), words);
}

function storeHint(value: unknown): string {
  if (['sendCommand', 'customCommand', 'send'].some((method) => has(value, method)))
    return "wrap the client: redis(client) from 'sluice/redis'";
  if (has(value, 'execute') && has(value, 'query')) return "wrap the client: mysql(pool) from 'sluice/mysql'";
  if (has(value, 'prepare') && has(value, 'exec'))
    return has(value, 'batch')
      ? "wrap the database: d1(env.DB) from 'sluice/d1'"
      : "wrap the database: sqlite(database) from 'sluice/sqlite'";
  if (has(value, 'query') || has(value, 'unsafe'))
    return "wrap the client: postgres(pool) from 'sluice/postgres'";
  if (typeof value === 'function') return `call it: ${value.name}()`;
  return typeof value === 'string' ? "connect a client, and wrap it: redis(client) from 'sluice/redis'" : '';
}

function has(value: unknown, method: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[method] === 'function';
}
