/**
 * Parses a configuration without holding up the event loop. YAML can only be parsed whole, which takes a second for some ten
 * thousand limits, so a worker thread does it. It hands the result over piece by piece, on request: Node would deliver pieces
 * that wait in one turn of the loop.
 */
import { Worker } from 'node:worker_threads';
import { nextTurn } from '../core/slices.ts';
import { type ConfigFile, parseConfig } from './config.ts';
import { type Config, ConfigError, type Domain, type Fault, type LimitConfig } from './model.ts';
import { unpacked } from './pack.ts';

/** Limits in one message. */
export const PIECE = 100;

export interface Piece {
  /** Pairs of name and limit, packed. */
  readonly limits?: unknown;
  /** Pairs of name and domain, packed. */
  readonly domains?: unknown;
  readonly faults?: readonly Fault[];
  readonly isLast?: true;
}

/** As `parseConfig`: rejects with a ConfigError that holds all faults of all files. */
export async function parseInWorker(files: readonly ConfigFile[]): Promise<Config> {
  // Node 20 cannot run a worker from TypeScript, so where the sources are run (tests), it happens here.
  if (import.meta.url.endsWith('.ts')) return parseConfig(files);
  const worker = new Worker(new URL('./parse-worker.js', import.meta.url), { workerData: files });
  worker.unref();
  try {
    const limits = new Map<string, LimitConfig>();
    const domains = new Map<string, Domain>();
    for (;;) {
      const piece = await nextPiece(worker);
      if (piece.faults !== undefined) throw new ConfigError(piece.faults);
      for (const [name, limit] of pairsIn<LimitConfig>(piece.limits)) limits.set(name, limit);
      for (const [name, domain] of pairsIn<Domain>(piece.domains)) domains.set(name, domain);
      if (piece.isLast) return { limits, domains };
      await nextTurn();
    }
  } finally {
    await worker.terminate();
  }
}

/** Rejects if the worker fails: it may run out of memory. */
function nextPiece(worker: Worker): Promise<Piece> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that parses it ended with code ${code}`)));
    worker.postMessage('more');
  });
}

function pairsIn<T>(pairs: unknown = []): readonly (readonly [name: string, value: T])[] {
  return unpacked(pairs) as readonly (readonly [string, T])[];
}
