/** The worker thread of parse-in-worker.ts: parses a configuration and sends it in pieces, on request. */
import { parentPort, workerData } from 'node:worker_threads';
import { hashOf } from './config-hash.ts';
import { parseConfig } from './config.ts';
import { ConfigError } from './model.ts';
import { packed } from './pack.ts';
import { type Job, type Piece, PIECE } from './parse-in-worker.ts';

function* pieces({ files, options }: Job): Generator<Piece, void> {
  try {
    const config = parseConfig(files, options);
    const { limits, domains } = config;
    const all = [...limits];
    for (let i = 0; i < all.length; i += PIECE) yield { limits: packed(all.slice(i, i + PIECE)) };
    for (const domain of domains) yield { domains: packed([domain]) };
    yield { hash: hashOf(config) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    yield { faults: error.faults };
  }
}

const sending = pieces(workerData as Job);
parentPort?.on('message', () => {
  const { value } = sending.next();
  if (value !== undefined) parentPort?.postMessage(value);
});
