/**
 * Combines single requests into calls for many keys.
 *
 * Requests of one tick are sent in one call. While `CALLS` calls are under way, later requests wait and are sent together in the
 * next call, so calls get larger as the load increases. A single request is sent without delay.
 */
import type { Millis } from '../../engine/contract.ts';

/** The maximum number of requests in one call. In a larger call, the first requests would only wait longer for their answers. */
const SIZE = 200;
/** Number of calls that may be under way. The server works on one call while the client decides the hits of another. */
const CALLS = 2;
/**
 * A call that takes longer than this, in milliseconds, no longer delays other calls, because its connection may be dead or one of
 * its rows may be locked.
 */
const PATIENCE: Millis = 100;

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Sends a request, and calls `resolve` or `reject` with its result. Callbacks cost less than a promise for each request. */
export type Send<Request, Answer> = (
  request: Request,
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
) => void;

/**
 * Returns a function that sends requests in batches. `askMany` must return one answer for each request, in the order of the
 * requests. If `askMany` rejects, every request of that call is rejected.
 */
export function inBatches<Request, Answer>(
  askMany: (requests: readonly Request[]) => Promise<readonly Answer[]>,
): Send<Request, Answer> {
  let waiting: Waiting<Request, Answer>[] = [];
  /** The calls that may delay other calls, each with its start time (`performance.now()`). */
  const underWay = new Map<object, Millis>();
  let isScheduled = false;
  let isTimed = false;

  function schedule(): void {
    if (isScheduled || waiting.length === 0) return;
    if (underWay.size >= CALLS) {
      if (!isTimed) setTimeout(giveUp, PATIENCE);
      isTimed = true;
      return;
    }
    isScheduled = true;
    atEndOfTick(flush);
  }

  function giveUp(): void {
    isTimed = false;
    for (const [call, since] of underWay) if (performance.now() - since >= PATIENCE) underWay.delete(call);
    schedule();
  }

  function flush(): void {
    isScheduled = false;
    while (waiting.length > 0 && underWay.size < CALLS) {
      const batch = waiting.slice(0, SIZE);
      waiting = waiting.slice(SIZE);
      void send(batch);
    }
    schedule();
  }

  async function send(batch: readonly Waiting<Request, Answer>[]): Promise<void> {
    underWay.set(batch, performance.now());
    let settle: (one: Waiting<Request, Answer>, i: number) => void;
    try {
      const answers = await askMany(batch.map(({ request }) => request));
      settle = ({ resolve }, i) => resolve(answers[i]);
    } catch (error) {
      settle = ({ reject }) => reject(error);
    }
    underWay.delete(batch);
    batch.forEach(settle);
    schedule();
  }

  return (request, resolve, reject) => {
    waiting.push({ request, resolve, reject });
    schedule();
  };
}

/**
 * Runs a function after all promises that settle in this tick have been handled, so that a caller that has just received its
 * answer can make its next request first. Outside Node, the function waits only for promises that have already settled.
 */
function atEndOfTick(run: () => void): void {
  const { process } = globalThis as { process?: { nextTick?: (run: () => void) => void } };
  void Promise.resolve().then(process?.nextTick === undefined ? run : () => process.nextTick?.(run));
}
