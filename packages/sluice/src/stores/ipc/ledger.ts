/**
 * Records the decisions of the serving process in a file next to the socket, so that its successor continues with the same
 * state after a restart, a crash or SIGKILL. Only the serving process writes the file.
 *
 *   head     a line of JSON: the format, the seed of fingerprints, and the plans and number of cells of each table
 *   cells    the rows that were in use when the file was written, as float64
 *   lines    the changes since the file was written, each as a line of JSON: [time, plans, hits, client, number of the client's
 *            line]
 *
 * A line is written in one call before its answers are sent, so a decision whose answer has arrived is never lost. The file is
 * not flushed to disk, so it survives a crash of the process, but not of the machine.
 */
import { closeSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import type { Millis, Plan } from '../../engine/contract.ts';
import { warnOnce } from '../../internal/warn.ts';
import type { Inside } from '../memory/memory.ts';
import { restore, save } from '../memory/saved.ts';
import { randomSeed } from '../table/fingerprint.ts';
import type { HitLine } from '../wire/wire.ts';

/** Changes whenever the meaning of a row or a line changes. Files with another format are not read. */
const FORMAT = 'sluice 1';
/** The file is rewritten when its lines have more bytes than this, and more than twice as many bytes as its rows. */
const MOST_LINES = 4 * 2 ** 20;
/** Maximum number of clients whose last line is remembered. */
const CLIENTS = 1000;

export type Entry = readonly [
  now: Millis,
  plans: readonly string[],
  hits: readonly HitLine[],
  client: string,
  number: number,
];

interface Head {
  readonly format: string;
  readonly seed: readonly number[];
  readonly tables: readonly {
    readonly plans: readonly string[];
    readonly width: number;
    readonly cells: number;
    readonly count: number;
  }[];
  readonly blocks: readonly { readonly name: string; readonly cells: number; readonly count: number }[];
  readonly done: readonly (readonly [client: string, number: number])[];
}

export interface LedgerOptions {
  readonly path: string;
  readonly inside: Inside;
  readonly textOf: (plan: Plan) => string;
  readonly planOf: (text: string) => Plan;
  /** Applies a recorded entry again. */
  readonly replay: (entry: Entry) => void;
}

export class Ledger {
  readonly #options: LedgerOptions;
  /** For each client, the number of its last line that changed the state. */
  #done = new Map<string, number>();
  /** The file descriptor, or −1 while this process does not serve or if the file cannot be written. */
  #file = -1;
  #lines = 0;
  #most = MOST_LINES;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Restores the state of the predecessor, if there is any. Called when this process begins to serve. */
  open(): void {
    try {
      this.#read();
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT') {
        this.#options.inside.restart(randomSeed());
        this.#warn('cannot be read, so all keys start from scratch', error);
      }
    }
    this.#write();
  }

  /** Whether the line was already decided, and only its answer was lost. */
  knows(client: string, number: number): boolean {
    return number <= (this.#done.get(client) ?? 0);
  }

  append(entry: Entry): void {
    this.#note(entry[3], entry[4]);
    if (this.#file < 0) return;
    try {
      this.#lines += writeSync(this.#file, `${JSON.stringify(entry)}\n`);
    } catch (error) {
      this.close();
      this.#warn('cannot be written, so all counts are lost when this process ends', error);
    }
    if (this.#lines > this.#most) this.#write();
  }

  close(): void {
    if (this.#file >= 0) closeSync(this.#file);
    this.#file = -1;
  }

  #note(client: string, number: number): void {
    this.#done.delete(client);
    this.#done.set(client, number);
    if (this.#done.size <= CLIENTS) return;
    const [oldest] = this.#done.keys();
    this.#done.delete(oldest);
  }

  #read(): void {
    const { path, inside, planOf, replay } = this.#options;
    const bytes = readFileSync(path);
    let at = bytes.indexOf('\n') + 1;
    const head = JSON.parse(bytes.toString('utf8', 0, at)) as Head;
    if (head.format !== FORMAT) throw new TypeError('the file was written by another version of Sluice');
    function cells(count: number): Float64Array {
      const end = at + 8 * count;
      if (end > bytes.length) throw new RangeError('the file ends too early');
      const copy = new Uint8Array(bytes.subarray(at, end));
      at = end;
      return new Float64Array(copy.buffer);
    }
    const { seed } = head;
    const tables = head.tables.map((table) => ({
      plans: table.plans.map(planOf),
      width: table.width,
      rows: cells(table.cells),
      count: table.count,
    }));
    const blocks = head.blocks.map((block) => ({
      name: block.name,
      rows: cells(block.cells),
      count: block.count,
    }));
    restore(inside.restart(Int32Array.from(seed)), { seed, tables, blocks }, inside.now());
    this.#done = new Map(head.done);
    // Text after the last newline is an incomplete line, whose writer ended before it answered.
    for (let end = bytes.indexOf('\n', at); end >= 0; end = bytes.indexOf('\n', at)) {
      const entry = JSON.parse(bytes.toString('utf8', at, end)) as Entry;
      at = end + 1;
      replay(entry);
      this.#note(entry[3], entry[4]);
    }
  }

  /** Writes a new file and renames it over the old one, which the previous serving process may still have open. */
  #write(): void {
    const { path, inside, textOf } = this.#options;
    this.close();
    try {
      const { seed, tables, blocks } = save(inside.spaces(), inside.now());
      const head: Head = {
        format: FORMAT,
        seed,
        tables: tables.map(({ plans, width, rows, count }) => ({
          plans: plans.map(textOf),
          width,
          cells: rows.length,
          count,
        })),
        blocks: blocks.map(({ name, rows, count }) => ({ name, cells: rows.length, count })),
        done: [...this.#done],
      };
      const next = `${path}.next`;
      this.#file = openSync(next, 'w', 0o600);
      writeAll(this.#file, Buffer.from(`${JSON.stringify(head)}\n`));
      let size = 0;
      for (const { rows } of [...tables, ...blocks]) {
        writeAll(this.#file, new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength));
        size += rows.byteLength;
      }
      renameSync(next, path);
      this.#lines = 0;
      this.#most = Math.max(MOST_LINES, 2 * size);
    } catch (error) {
      this.close();
      this.#warn('cannot be written, so all counts are lost when this process ends', error);
    }
  }

  #warn(problem: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    warnOnce('SLUICE_IPC_STATE', `ipc: ${this.#options.path} ${problem}: ${reason}`, this);
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}
