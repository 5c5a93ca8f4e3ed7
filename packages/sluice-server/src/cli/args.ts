/**
 * Parses the command line. A flag that is not given is read from the environment; for example, --max-key is read from
 * SLUICE_MAX_KEY.
 */
import { parseArgs } from 'node:util';
import type { Address } from '../listeners/listener.ts';
import { UsageError } from '../config/usage-error.ts';
import { closest } from './closest.ts';

export interface Flag {
  /** Placeholder for the flag's value in the help text. Undefined for a boolean flag, which has no value. */
  readonly value?: string;
  readonly many?: boolean;
  /** The accepted values, if they are a fixed list. Shells complete them. */
  readonly choices?: readonly string[];
  /** Whether the short help shows the flag. If no flag of a command is a main flag, the short help shows all of them. */
  readonly isMain?: boolean;
  /**
   * Whether an empty environment variable is an error, because ignoring it would open a listener to everyone. Default: an empty
   * variable counts as not set.
   */
  readonly rejectsEmpty?: boolean;
  readonly help: string;
  /** The text of the short help, whose lines have at most 100 characters. Default: `help`. */
  readonly shortHelp?: string;
}

export type Flags = Readonly<Record<string, Flag>>;

/** Values with which an environment variable turns a boolean flag on or off. */
const ON: readonly string[] = ['true', '1', 'yes', 'on'];
const OFF: readonly string[] = ['false', '0', 'no', 'off'];

export class Args {
  readonly positionals: readonly string[];
  private readonly values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>, positionals: readonly string[]) {
    this.values = values;
    this.positionals = positionals;
  }

  all(name: string): readonly string[] {
    return this.values.get(name) ?? [];
  }

  text(name: string): string | undefined {
    return this.all(name).at(-1);
  }

  /** Whether a boolean flag is set. */
  has(name: string): boolean {
    return ON.includes(this.text(name)?.toLowerCase() ?? '');
  }

  integer(name: string, least = 0): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(number))
      throw new UsageError(`--${name} must be an integer of ${least} or more; got ${text}`);
    if (number < least) throw new UsageError(`--${name} must be at least ${least}; got ${text}`);
    return number;
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const text = this.text(name);
    const found = choices.find((one) => one === text);
    if (text !== undefined && found === undefined)
      throw new UsageError(`--${name} must be one of ${choices.join(', ')}; got ${text}`);
    return found;
  }

  /** Parses an address such as '127.0.0.1:8080' or '[::1]:8080'. The host defaults to 127.0.0.1, as in ':8080' or '8080'. */
  address(name: string): Address | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const [, bracketed, plain, port] = /^(?:(?:\[([\da-fA-F:.]+)\]|([^:[\]]*)):)?(\d{1,5})$/.exec(text) ?? [];
    if (port === undefined || Number(port) > 65_535)
      throw new UsageError(`--${name} must be host:port; got ${text}`);
    return { host: bracketed ?? (plain || '127.0.0.1'), port: Number(port) };
  }
}

export function readArgs(
  argv: readonly string[],
  flags: Flags,
  env: Readonly<Record<string, string | undefined>> = {},
): Args {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple: true },
    ]),
  );
  const values = new Map<string, readonly string[]>();
  for (const [name, { many = false, value, rejectsEmpty = false }] of Object.entries(flags)) {
    const variable = `SLUICE_${name.toUpperCase().replaceAll('-', '_')}`;
    const given = env[variable] ?? '';
    if (given === '' && rejectsEmpty && env[variable] !== undefined)
      throw new UsageError(`${variable} must not be empty; set it, or unset it`);
    if (given === '') continue;
    if (value === undefined && ![...ON, ...OFF].includes(given.toLowerCase()))
      throw new UsageError(`${variable} must be true or false; got ${given}`);
    values.set(name, many ? given.split(',').filter(Boolean) : [given]);
  }
  try {
    const parsed = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
    for (const [name, value] of Object.entries(parsed.values)) {
      const given = (Array.isArray(value) ? value : [value]).map(String);
      if (given.includes('')) throw new UsageError(`--${name} must not be empty`);
      values.set(name, given);
    }
    return new Args(values, parsed.positionals);
  } catch (error) {
    throw new UsageError(explain(error as Error, Object.keys(flags)));
  }
}

/** The message of an error, or a shorter one if the error is an unknown flag. */
function explain({ message }: Error, names: readonly string[]): string {
  const [, flag] = /^Unknown option '(-[^']*)'/.exec(message) ?? [];
  if (flag === undefined) return message;
  const similar = closest(flag.replace(/^-+/, ''), names);
  return `unknown flag '${flag}'${similar === undefined ? '' : `. Did you mean --${similar}?`}`;
}

export function showFlags(flags: Flags): string {
  const rows = Object.entries(flags).map(([name, { value, help }]) => [
    `  --${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  ]);
  const width = Math.max(...rows.map(([left = '']) => left.length)) + 2;
  return rows.map(([left = '', right = '']) => `${left.padEnd(width)}${right}`).join('\n');
}
