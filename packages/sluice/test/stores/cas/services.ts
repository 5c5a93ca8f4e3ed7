/** The services of examples/stores, imported like a reader would import them. */
import type { CasService } from '../../../src/store.ts';

/** Imports by a path that the type checker does not follow, because examples are JavaScript in another project. */
export async function example(file: string): Promise<Record<string, (...args: unknown[]) => unknown>> {
  return import(/* @vite-ignore */ new URL(`../../../../../examples/stores/${file}`, import.meta.url).href);
}

export type AnyService = CasService<unknown>;
