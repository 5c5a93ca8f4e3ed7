/**
 * Keeps the state that all copies of this package in a process must share. Node loads the package once, but Bun, Jest and bundlers
 * load it twice if a program both imports and requires it: as ES modules and as CommonJS. Each copy has its own modules, and
 * therefore its own variables, while the clients, requests and stores that a program passes to the copies are the same objects.
 */
import { VERSION } from './version.ts';

/**
 * The symbol under which the state is kept. Its name contains the version, because another version of the package may keep
 * different values.
 */
const STATE = Symbol.for(`sluice ${VERSION}`);

/** Returns the value with this name. The first copy of the package that needs the value creates it. */
export function processState<T>(name: string, create: () => T): T {
  const host = globalThis as { [STATE]?: Map<string, unknown> };
  host[STATE] ??= new Map();
  if (!host[STATE].has(name)) host[STATE].set(name, create());
  return host[STATE].get(name) as T;
}
