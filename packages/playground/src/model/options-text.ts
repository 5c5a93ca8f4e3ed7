/**
 * Parses a policy with options, for everything that a rate cannot express, such as `penalty { after: 3, within: 10s, block: 20s
 * }`. The names and values are the same as in the factory's options and in a server's configuration.
 */
import { minInterval, type Millis, type Policy } from 'sluice';
import { type AlgorithmName, ALGORITHMS, KNOWN } from './algorithms.ts';

export type OptionValue = number | string | boolean;
export type Options = Readonly<Record<string, OptionValue>>;

/** Thrown for text that cannot be parsed. Contains the words that cause the error. */
export class Unreadable extends Error {
  readonly words: string;

  constructor(words: string, why: string) {
    super(why);
    this.words = words;
  }
}

const WHOLE = /^\s*([a-z-]+)\s*\{([^{}]*)\}\s*$/i;
const MEMBER = /^\s*(\w+)\s*:\s*(.+?)\s*$/;

/** Parses a policy written with options. Returns undefined if the text has no braces. */
export function readOptions(text: string): { algorithm: AlgorithmName; options: Options } | undefined {
  const [, name, inner = ''] = WHOLE.exec(text) ?? [];
  if (name === undefined) return undefined;
  const algorithm = ALGORITHMS.find((one) => one === name.toLowerCase());
  if (algorithm === undefined)
    throw new Unreadable(name, `unknown algorithm "${name}"; must be one of ${ALGORITHMS.join(', ')}`);
  const members = inner.split(',').filter((member) => member.trim() !== '');
  return { algorithm, options: Object.fromEntries(members.map(readMember)) };
}

function readMember(member: string): [name: string, value: OptionValue] {
  const [, name, text = ''] = MEMBER.exec(member) ?? [];
  if (name === undefined)
    throw new Unreadable(member.trim(), 'write options as name: value, such as limit: 10');
  if (/^[\d_]+(\.\d+)?$/.test(text)) return [name, Number(text.replaceAll('_', ''))];
  if (text === 'true' || text === 'false') return [name, text === 'true'];
  return [name, text.replace(/^(["'])(.*)\1$/, '$2')];
}

export function writeOptions(algorithm: AlgorithmName, options: Options): string {
  const members = Object.entries(options).map(([name, value]) => `${name}: ${value}`);
  return `${algorithm} { ${members.join(', ')} }`;
}

/** Creates a policy with the factory of its algorithm. Throws the factory's error if the options are invalid. */
export function policyOf(algorithm: AlgorithmName, options: Options): Policy {
  return KNOWN[algorithm].make(options as never);
}

/** Parses a duration with the library's own parser; returns undefined for other text. */
export function spanOf(text: OptionValue): Millis | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return minInterval({ every: text }).window;
  } catch {
    return undefined;
  }
}
