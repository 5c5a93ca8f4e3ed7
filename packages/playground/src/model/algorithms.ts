/** The library's algorithms as the page shows them. */
import { algorithms, type Policy } from 'sluice';

/** The name in policy text and configurations, such as 'sliding-log'. */
export type AlgorithmName = string;

interface Known {
  /** The factory's name in code: 'slidingLog'. */
  readonly code: string;
  /** The factory, which validates its options itself. */
  readonly make: (options: never) => Policy;
}

const entries = Object.entries(algorithms);

export const KNOWN: Readonly<Record<AlgorithmName, Known>> = Object.fromEntries(
  entries.map(([name, { factory }]) => [name, { code: camelCase(name), make: factory }]),
);

export const ALGORITHMS: readonly AlgorithmName[] = Object.keys(KNOWN);

/** Algorithms that cannot be written as a rate. Their policies are always written with options. */
export const UNRATED: readonly AlgorithmName[] = namesOf((name) => algorithms[name].text === undefined);
export const BURSTY: readonly AlgorithmName[] = namesOf((name) => algorithms[name].text?.burst === true);

function namesOf(matches: (name: AlgorithmName) => boolean): AlgorithmName[] {
  return ALGORITHMS.filter(matches);
}

function camelCase(name: AlgorithmName): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
