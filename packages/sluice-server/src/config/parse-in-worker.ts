/**
 * Parses a configuration without blocking the event loop. YAML cannot be parsed incrementally, and ten thousand limits take about
 * a second, so a worker thread parses the configuration. The main thread requests the result piece by piece, because Node would
 * deliver all queued pieces in a single turn of the event loop.
 */
import { Worker } from 'node:worker_threads';
import { nextTurn } from '../core/slices.ts';
import { hashOf } from './config-hash.ts';
import { type ConfigFile, type ConfigOptions, parseConfig } from './config.ts';
import { type Config, ConfigError, type Domain, type Fault, type LimitConfig } from './model.ts';
import { unpacked } from './pack.ts';

/** Number of limits in one message. */
export const PIECE = 100;

/** What the worker parses. */
export interface Job {
  readonly files: readonly ConfigFile[];
  readonly options: ConfigOptions;
}

export interface Piece {
  /** Pairs of name and limit, as returned by `packed`. */
  readonly limits?: unknown;
  /** Pairs of name and domain, as returned by `packed`. */
  readonly domains?: unknown;
  readonly faults?: readonly Fault[];
  /** Hash of the configuration. Only the last piece contains it. */
  readonly hash?: string;
}

export interface Parsed {
  readonly config: Config;
  /** Hash of the configuration, which would block the event loop for a while if it were computed in the main thread. */
  readonly hash: string;
}

/** Same as `parseConfig` and `hashOf`, but in a worker thread. Rejects with a ConfigError that lists all faults of all files. */
export async function parseInWorker(
  files: readonly ConfigFile[],
  options: ConfigOptions = {},
): Promise<Parsed> {
  // Node 20 cannot run a worker from a TypeScript file. When running from source, as tests do, parse in this thread.
  if (import.meta.url.endsWith('.ts')) {
    const config = parseConfig(files, options);
    return { config, hash: hashOf(config) };
  }
  const job: Job = { files, options };
  const worker = new Worker(new URL('./parse-worker.js', import.meta.url), { workerData: job });
  worker.unref();
  try {
    const limits = new Map<string, LimitConfig>();
    const domains = new Map<string, Domain>();
    for (;;) {
      const piece = await nextPiece(worker);
      if (piece.faults !== undefined) throw new ConfigError(piece.faults);
      for (const [name, limit] of pairsIn<LimitConfig>(piece.limits)) limits.set(name, limit);
      for (const [name, domain] of pairsIn<Domain>(piece.domains)) domains.set(name, domain);
      if (piece.hash !== undefined) return { config: { limits, domains }, hash: piece.hash };
      await nextTurn();
    }
  } finally {
    await worker.terminate();
  }
}

/** Requests the next piece from the worker. Rejects if the worker fails, for example because it runs out of memory. */
function nextPiece(worker: Worker): Promise<Piece> {
  return new Promise((resolve, reject) => {
    worker.removeAllListeners();
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) =>
      reject(new Error(`the thread that parses the configuration exited with code ${code}`)),
    );
    worker.postMessage('more');
  });
}

function pairsIn<T>(pairs: unknown = []): readonly (readonly [name: string, value: T])[] {
  return unpacked(pairs) as readonly (readonly [string, T])[];
}
