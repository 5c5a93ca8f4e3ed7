/** Parts that the stores on database tables share. */
import type { MaybePromise, Millis } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';
import { processState } from '../../internal/process-state.ts';

const tables = /* @__PURE__ */ processState('tables', () => new WeakMap<object, Map<string, object>>());

/** Identifies a table of a database. Two stores on one client share their keys only if they use the same table. */
export function backendOf(client: object, table: string): object {
  const known = tables.get(client) ?? new Map<string, object>();
  tables.set(client, known);
  const backend = known.get(table) ?? {};
  known.set(table, backend);
  return backend;
}

/** Splits the name of a table into its optional schema and the name itself. Rejects names that would have to be escaped. */
export function tableParts(table: unknown, hasSchema: boolean): readonly string[] {
  const parts = typeof table === 'string' ? table.split('.') : [];
  const isShort = parts.length === 1 || (hasSchema && parts.length === 2);
  if (!isShort || !parts.every((part) => /^[a-z_][a-z_0-9]{0,50}$/i.test(part)))
    throw new SluiceError(
      'ERR_CHOICE',
      'table',
      table,
      '',
      `must consist of letters, digits and _${hasSchema ? ', optionally after a schema and a dot' : ''}`,
    );
  return parts;
}

/** A random version never repeats for a key, not even after its row has expired. */
export function newVersion(): string {
  return String(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER) + 1);
}

/** After WRITES writes or a second, whichever comes later, at most CLEANED expired rows are deleted. */
const WRITES = 100;
const SECOND: Millis = 1000;
const CLEANED = 500;
/** How long a cleanup may take before another one may start. */
const LONGEST: Millis = 10_000;

/**
 * Returns a function that counts writes and, from time to time, deletes expired rows in the background. `clean` deletes at most
 * the given number of rows and returns how many it has deleted. If it fails, a later write tries again.
 */
export function cleaner(clean: (limit: number) => MaybePromise<unknown>): (written: number) => void {
  let writes = 0;
  let nextCleaning = 0;

  async function cleanUp(): Promise<void> {
    writes = 0;
    // The time is set before the call, because a runtime may cancel the call when a request ends, and the lines after the call
    // then never run.
    nextCleaning = performance.now() + LONGEST;
    let cleaned: unknown;
    try {
      cleaned = await clean(CLEANED);
    } catch {
      cleaned = 0;
    }
    // A full batch means that there may be more expired rows.
    nextCleaning = cleaned === CLEANED ? 0 : performance.now() + SECOND;
  }

  return (written) => {
    writes += written;
    if (writes >= WRITES && performance.now() >= nextCleaning) void cleanUp();
  };
}
