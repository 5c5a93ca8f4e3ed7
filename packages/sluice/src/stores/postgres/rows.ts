/**
 * Rows in a table, one statement for each look or write.
 *
 * What this process last knew of a row is remembered, and a key that it knows nothing of is taken to be new. So most
 * decisions are made before the server is asked: the write says which version it rests on, and if that is not the
 * newest, nothing is written and the newest comes back. A decision that writes nothing is read for.
 */
import type { Millis } from '../../contract.ts';
import { mistake, type StoreFault, StoreUnavailable } from '../../errors.ts';
import type { Found, Rows } from '../cas/swap-store.ts';
import type { Run, Statement } from './client.ts';
import { migration, statementsFor } from './sql.ts';

type Known = Pick<Found, 'value' | 'version'>;

/** Rows remembered, and bytes of each at most. */
const REMEMBERED = 10_000;
const LARGEST = 1024;
/** After so many writes, or a second, whichever comes later, at most so many expired rows are deleted. */
const WRITES = 100;
const SECOND = 1000;
const CLEANED = 500;

/** By the server's code for it, or the first two characters of that. */
const FAULTS: Readonly<Record<string, StoreFault>> = {
  '08': 'connection',
  '28': 'no-permission',
  '42501': 'no-permission',
  '25006': 'read-only',
  '53': 'out-of-memory',
  '53300': 'connection',
  '57P03': 'loading',
  '57P': 'connection',
  // A socket's, which may come without a message: ECONNREFUSED.
  ECO: 'connection',
};
/** Others wrote first, where transactions see a snapshot: nothing was written. */
const CONFLICTS = new Set(['40001', '40P01']);
const NO_TABLE = '42P01';

export function postgresRows(run: Run, table: string, clock?: { now(): Millis }): Rows {
  const { read, insert, update, clean } = statementsFor(table);
  const remembered = new Map<string, Known>();
  /** The server's time minus this process's: at most that, as a reply is read after it was written. */
  let ahead = -Infinity;
  let writes = 0;
  let nextCleaning = 0;

  const serverTime = (): Millis => ahead + performance.now();

  async function ask(statement: Statement, values: readonly unknown[]) {
    try {
      return (await run(statement, values))[0];
    } catch (error) {
      throw explained(error, table);
    }
  }

  function remember(key: string, { value, version }: Known): void {
    remembered.delete(key);
    if (value === undefined || value.byteLength > LARGEST) return;
    const [oldest] = remembered.keys();
    if (remembered.size >= REMEMBERED && oldest !== undefined) remembered.delete(oldest);
    remembered.set(key, { value, version });
  }

  /** What a reply says of the row; `sure` unless the row may have come into being after the statement began. */
  function foundIn(key: string, reply: Record<string, unknown>, sure: boolean): Found {
    const time = reply['now'] as Millis;
    const value = (reply['value'] as Uint8Array | null) ?? undefined;
    const version = reply['version'] ?? undefined;
    remember(key, { value, version });
    return { value, version, now: clock?.now() ?? time, sure };
  }

  async function get(key: string, sure: boolean): Promise<Found> {
    if (!sure && ahead > -Infinity) {
      const { value, version } = remembered.get(key) ?? { value: undefined, version: undefined };
      return { value, version, now: clock?.now() ?? serverTime(), sure: false };
    }
    const reply = await ask(read, [key]);
    ahead = Math.max(ahead, (reply['now'] as Millis) - performance.now());
    return foundIn(key, reply, true);
  }

  async function put(
    key: string,
    found: Found,
    value: Uint8Array,
    expiresIn: Millis,
  ): Promise<true | false | Found> {
    const version = newVersion();
    const decidedFor = clock === undefined ? found.now : 0;
    const values = [key, value, version, expiresIn, decidedFor];
    const isNew = found.version === undefined;
    const reply = await ask(isNew ? insert : update, isNew ? values : [...values, found.version]).catch(
      (error: unknown) => {
        if (CONFLICTS.has(codeOf(error))) return undefined;
        throw error;
      },
    );
    if (reply === undefined) return false;
    const replied = (reply['now'] as Millis) - performance.now();
    const inTime = reply['won'] === true || (reply['version'] ?? undefined) !== found.version;
    // Refused although it rests on the newest version: the server's clock was set back, or this process slept.
    ahead = inTime ? Math.max(ahead, replied) : replied;
    if (reply['won'] === true) {
      remember(key, { value, version });
      if (++writes >= WRITES && performance.now() >= nextCleaning) void cleanUp();
      return true;
    }
    return foundIn(key, reply, reply['value'] !== null);
  }

  /** Nobody waits for it; what fails is tried again later. */
  async function cleanUp(): Promise<void> {
    writes = 0;
    nextCleaning = Infinity;
    const cleaned = await run(clean, [CLEANED]).then(
      ([row]) => row['cleaned'],
      () => 0,
    );
    // There may be more.
    nextCleaning = cleaned === CLEANED ? 0 : performance.now() + SECOND;
  }

  return { get, put };
}

/** Never the same twice, also after the row was gone for a while. */
function newVersion(): string {
  return String(Math.floor(Math.random() * Number.MAX_SAFE_INTEGER) + 1);
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

function explained(error: unknown, table: string): unknown {
  const code = codeOf(error);
  if (code === NO_TABLE)
    return mistake('ERR_TABLE', 'postgres.table', table, `make it with\n${migration({ table })}`);
  const fault = FAULTS[code] ?? FAULTS[code.slice(0, 3)] ?? FAULTS[code.slice(0, 2)];
  return fault === undefined ? error : new StoreUnavailable(fault, error);
}
