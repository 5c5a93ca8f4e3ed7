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
 * A call that takes longer than this no longer delays other calls, because its connection may be dead or its row may be locked.
 */
const PATIENCE: Millis = 100;

interface Waiting<Request, Answer> {
  readonly request: Request;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Returns a function that sends requests in batches. `askMany` must return one answer for each request, in the order of the
 * requests. If `askMany` rejects, every request of that call is rejected.
 */
export function inBatches<Request, Answer>(
  askMany: (requests: readonly Request[]) => Promise<readonly Answer[]>,
): (request: Request) => Promise<Answer> {
  let waiting: Waiting<Request, Answer>[] = [];
  /** The start time of each call that may delay other calls, by `performance.now()`. */
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
    void Promise.resolve().then(flush);
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
    try {
      const answers = await askMany(batch.map(({ request }) => request));
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    underWay.delete(batch);
    schedule();
  }

  return (request) =>
    new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject });
      schedule();
    });
}
