/** Checks of what a caller of an old API passed. Each throws a SluiceError that names the option and shows the value. */
import { SluiceError } from '../index.ts';

/** An object whose names are all known, so that a misspelt option never becomes a silent default. */
export function known(what: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null) throw new SluiceError('ERR_OPTIONS', what, options);
  for (const [name, value] of Object.entries(options)) {
    if (!names.includes(name))
      throw new SluiceError('ERR_UNKNOWN_OPTION', `${what}.${name}`, value, `known: ${names.join(', ')}`);
  }
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

export function whole(option: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    throw new SluiceError('ERR_INTEGER', option, value);
  return value as number;
}
