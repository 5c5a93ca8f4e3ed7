/**
 * Sends synthetic traffic to the limits of the server for a minute, through its ordinary API. It starts by resetting its keys, which only
 * an admin may do. So a client without admin rights cannot start it, and a second run begins like the first.
 */
import { signal } from '@preact/signals';
import type { Millis } from 'sluice';
import type { LimitAnswer } from './answer.ts';
import { askAll } from './ask.ts';

export type SampleState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly until: Millis }
  | { readonly kind: 'failed'; readonly why: string };

export const sample = signal<SampleState>({ kind: 'idle' });

const DURATION: Millis = 60_000;
const TICK: Millis = 250;
/** Bounds of the traffic: the maximum number of limits, and the maximum number of requests per second for each key. */
const MAX_LIMITS = 12;
const MAX_RATE = 20;
/** Clients that stay below the limit, and one that exceeds it. */
const STEADY = ['synthetic-ann', 'synthetic-ben', 'synthetic-cho', 'synthetic-dee'] as const;
const GREEDY = 'synthetic-greedy';

/** A key that sends requests at a rate, in requests per second. */
export interface Sender {
  readonly limit: string;
  readonly key: string;
  readonly rate: number;
}

/** Chooses rates that suit the numbers of the limit, so that some requests of the greedy key are denied within seconds. */
export function sendersFor(limit: string, { policies }: Pick<LimitAnswer, 'policies'>): Sender[] {
  const finite = policies.filter((one) => one.limit < Infinity && one.window < Infinity && one.window > 0);
  const lowest = (rate: (units: number, seconds: number) => number): number =>
    Math.min(MAX_RATE, ...finite.map((one) => rate(one.limit, one.window / 1000)));
  const greedy = lowest((units, seconds) => Math.max(units / 8, (1.6 * units) / seconds));
  const steady = lowest((units, seconds) =>
    Math.max((0.5 * units * 1000) / DURATION, (0.5 * units) / seconds),
  );
  return [
    ...STEADY.map((key, i) => ({ limit, key, rate: Math.min(4, steady) * (1 - i / 6) })),
    { limit, key: GREEDY, rate: Math.max(0.5, greedy) },
  ];
}

/** The factor of a sender's rate after this many seconds. The rates of steady keys vary slowly, and the greedy key pauses. */
export function swell({ key }: Sender, seconds: number): number {
  if (key === GREEDY) return seconds % 20 < 12 ? 1 : 0;
  return 0.7 + 0.3 * Math.sin(seconds / 4 + key.charCodeAt(key.length - 1));
}

let stop = (): void => {};

/** Ends the traffic. Requests that were already sent are still answered. */
export function stopSample(): void {
  stop();
}

export async function startSample(limits: readonly string[]): Promise<void> {
  stop();
  const own = new AbortController();
  stop = () => {
    own.abort();
    sample.value = { kind: 'idle' };
  };
  const isOver = () => own.signal.aborted;
  try {
    const chosen = limits.slice(0, MAX_LIMITS);
    sample.value = { kind: 'running', until: Date.now() + DURATION };
    const answers = await askAll(
      'reset',
      chosen.map((limit) => ({ limit, key: GREEDY })),
    );
    const senders = answers.flatMap((answer, i) => sendersFor(chosen[i], answer));
    const due = senders.map(() => Math.random());
    const start = performance.now();
    let last = start;
    while (!isOver() && performance.now() - start < DURATION) {
      await new Promise((resolve) => setTimeout(resolve, TICK));
      const now = performance.now();
      // A page in the background may be suspended. It does not catch up.
      const passed = Math.min(1, (now - last) / 1000);
      last = now;
      const hits = senders.flatMap((sender, i) => {
        due[i] += sender.rate * swell(sender, (now - start) / 1000) * passed;
        const count = Math.floor(due[i]);
        due[i] -= count;
        return Array.from({ length: count }, () => ({ limit: sender.limit, key: sender.key }));
      });
      if (hits.length > 0 && !isOver()) await askAll('take', hits);
    }
    if (!isOver()) stop();
  } catch (error) {
    if (isOver()) return;
    own.abort();
    sample.value = { kind: 'failed', why: error instanceof Error ? error.message : String(error) };
  }
}
