/** The services of examples/stores, as their readers would have them. */
import type { CasService } from '../../../src/store.ts';

/** By a path that the type check does not follow: examples are JavaScript and belong to another project. */
export async function example(file: string): Promise<Record<string, (...args: unknown[]) => unknown>> {
  return import(/* @vite-ignore */ new URL(`../../../../../examples/stores/${file}`, import.meta.url).href);
}

export type AnyService = CasService<unknown>;
