/**
 * Lets callers wait for their turn. Each key has a queue, ordered by priority and then by arrival. Only the head of a queue calls
 * the store, and calls it again at the instant that the store announced. As a result, a large cost is not starved by smaller costs
 * behind it, a waiter that leaves has not been charged, and a queue needs only one timer, however long it is.
 *
 * A store that other processes use may have units available earlier than it announced, so the head also polls. A process that has
 * served its own queue for a while lets other processes have a turn (see turns.ts).
 */
import type { Clock, Decision, MaybePromise, Millis } from '../engine/contract.ts';
import { ClosedError, type StoreFault, StoreUnavailable } from '../internal/errors.ts';
import { isPromise, chain, ignoreFailure } from '../internal/maybe-promise.ts';
import type { CostOptions } from './api.ts';
import { pollAfter, type Turns, turnsOf } from './turns.ts';

/** The operations of the limiter that a queue uses. */
export interface Desk {
  /** Takes if the key may act now. If the key has to wait, a penalty policy does not count that as a denial. */
  takeNow(key: string, cost: CostOptions): MaybePromise<Decision>;
  peek(key: string, cost: CostOptions): MaybePromise<Decision>;
  /** Refunds the charge that this decision made. */
  refund(key: string, tier: string | undefined, of: Decision): MaybePromise<Decision>;
  /** Whether the key has a concurrency limit, whose places may be released long before the instant that the store announced. */
  isHeld(key: string, tier: string | undefined): boolean;
  /** Whether other processes or threads may use the store, so that it can change without notice. */
  readonly isShared: boolean;
}

/** Maximum number of waiters for all keys together, as a multiple of the maximum for one key. */
const ALL_KEYS = 2;
/** The `retryAfter` of a denial if units are available, but earlier callers are waiting for them. */
const SOON: Millis = 100;

/** Faults that do not go away by themselves. The promise of a waiter rejects with such a fault. */
const LASTING: ReadonlySet<StoreFault> = new Set(['wrong-type', 'no-permission', 'script', 'unknown']);

/** Used instead of a decision while the store is temporarily unavailable. The waiter keeps waiting and tries again. */
const PAUSED = { allowed: false, retryAfter: 100 } as const;

export interface Ticket {
  readonly cost: CostOptions;
  readonly timeout: Millis;
  readonly signal: AbortSignal | undefined;
  readonly priority: number;
}

interface Waiter extends Ticket {
  readonly key: string;
  gone: boolean;
  settle(answer: MaybePromise<Decision>): void;
  fail(error: unknown): void;
}

/** Waiters of one key and priority. */
interface Lane {
  readonly priority: number;
  queue: Waiter[];
  /** Index of the first waiter that has not been served; earlier entries are stale. */
  head: number;
  /** Number of entries whose waiters have left. */
  gone: number;
}

/** Waiters of one key, by priority. */
interface KeyQueue {
  readonly lanes: Lane[];
  waiting: number;
  /** Whether the store was called for the head of the queue and has not answered yet. */
  asking: boolean;
  cancelAlarm: (() => void) | undefined;
  /** Whether the alarm ends a pause in which other processes may take what this process has given back. */
  yielding?: boolean;
}

export interface WaitingRoom {
  wait(key: string, ticket: Ticket): Promise<Decision>;
  /** Called when the key has more units than announced, so that the head of the queue tries again. */
  givenBack(key: string): void;
  close(): void;
}

export function waitingRoom(desk: Desk, clock: Pick<Clock, 'after'>, maxWaiting: number): WaitingRoom {
  const queues = new Map<string, KeyQueue>();
  const turns: Turns | undefined = desk.isShared ? turnsOf() : undefined;
  let waiting = 0;

  function wait(key: string, ticket: Ticket): Promise<Decision> {
    const { signal, timeout, cost, priority } = ticket;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const isFull = waiting >= ALL_KEYS * maxWaiting || (queues.get(key)?.waiting ?? 0) >= maxWaiting;
    if (timeout <= 0 || isFull) return withoutWaiting(key, ticket);
    return new Promise<Decision>((resolve, reject) => {
      let cancelTimeout: (() => void) | undefined;
      const onAbort = (): void => waiter.fail(signal?.reason);
      const waiter: Waiter = {
        cost,
        timeout,
        signal,
        priority,
        key,
        gone: false,
        settle: (answer) => leave(() => resolve(answer)),
        fail: (error) => leave(() => reject(error)),
      };
      function leave(done: () => void): void {
        if (waiter.gone) return;
        const isNext = depart(waiter);
        waiting--;
        cancelTimeout?.();
        signal?.removeEventListener('abort', onAbort);
        done();
        if (isNext) nudge(key);
      }
      signal?.addEventListener('abort', onAbort);
      waiting++;
      enqueue(waiter);
      if (waiter.gone || timeout === Infinity) return;
      cancelTimeout = clock.after(timeout, () => waiter.settle(refusal(desk, key, cost)));
    });
  }

  /** Tries once to take, unless other callers already wait for the key, because they must not be overtaken. */
  async function withoutWaiting(key: string, { cost, signal }: Ticket): Promise<Decision> {
    if (queues.get(key)?.cancelAlarm !== undefined) return refusal(desk, key, cost);
    const decision = await desk.takeNow(key, cost);
    if (decision.allowed && signal?.aborted) ignoreFailure(() => desk.refund(key, cost.tier, decision));
    signal?.throwIfAborted();
    return decision.allowed ? decision : refusal(desk, key, cost);
  }

  function enqueue(waiter: Waiter): void {
    const keyQueue = queues.get(waiter.key) ?? {
      lanes: [],
      waiting: 0,
      asking: false,
      cancelAlarm: undefined,
    };
    queues.set(waiter.key, keyQueue);
    keyQueue.waiting++;
    const { lanes } = keyQueue;
    let place = lanes.findIndex((lane) => lane.priority <= waiter.priority);
    if (place < 0) place = lanes.length;
    if (lanes[place]?.priority !== waiter.priority)
      lanes.splice(place, 0, { priority: waiter.priority, queue: [], head: 0, gone: 0 });
    lanes[place]?.queue.push(waiter);
    if (headOf(keyQueue) === waiter) nudge(waiter.key);
  }

  /** Removes a waiter. Returns whether it was at the head of its queue. */
  function depart(waiter: Waiter): boolean {
    const keyQueue = queues.get(waiter.key);
    const isNext = keyQueue !== undefined && headOf(keyQueue) === waiter;
    waiter.gone = true;
    if (keyQueue !== undefined) keyQueue.waiting--;
    const lane = keyQueue?.lanes.find(({ priority }) => priority === waiter.priority);
    // Stale entries are removed in bulk, because each removal copies the remaining entries. If they were kept, a queue behind a
    // long wait would keep growing.
    if (lane !== undefined && ++lane.gone > 1000 && 2 * lane.gone > lane.queue.length) {
      lane.queue = lane.queue.filter(({ gone }) => !gone);
      lane.head = lane.gone = 0;
    }
    return isNext;
  }

  function nudge(key: string): void {
    const keyQueue = queues.get(key);
    if (keyQueue === undefined || keyQueue.asking) return;
    const head = headOf(keyQueue);
    if (keyQueue.yielding && head !== undefined) return;
    keyQueue.cancelAlarm?.();
    keyQueue.cancelAlarm = undefined;
    const pause = head !== undefined && isPolled(head) ? turns?.pauseFor(key, queues.size) : 0;
    if (pause) {
      keyQueue.yielding = true;
      setAlarm(key, keyQueue, pause);
    } else serve(key, keyQueue);
  }

  function setAlarm(key: string, keyQueue: KeyQueue, delay: Millis): void {
    keyQueue.cancelAlarm = clock.after(delay, () => {
      keyQueue.cancelAlarm = undefined;
      keyQueue.yielding = false;
      serve(key, keyQueue);
    });
  }

  /** Whether a holder in another process may release a place at any time. */
  function isPolled({ key, cost }: Waiter): boolean {
    return desk.isShared && desk.isHeld(key, cost.tier);
  }

  /** Calls the store for one waiter after another, until one must wait. */
  function serve(key: string, keyQueue: KeyQueue): void {
    for (let head = headOf(keyQueue); head !== undefined; head = headOf(keyQueue)) {
      const waiter = head;
      keyQueue.asking = true;
      const answer = ask(waiter);
      if (isPromise(answer)) {
        void answer.then((decision) => {
          answered(key, keyQueue, waiter, decision);
          if (keyQueue.cancelAlarm === undefined) serve(key, keyQueue);
        });
        return;
      }
      answered(key, keyQueue, waiter, answer);
      if (keyQueue.cancelAlarm !== undefined) return;
    }
    queues.delete(key);
  }

  /**
   * Calls the store for a waiter. Never throws or rejects. If a fault will not go away by itself, the waiter's promise is
   * rejected with it.
   */
  function ask(waiter: Waiter): MaybePromise<Decision | typeof PAUSED | undefined> {
    const failed = (error: unknown): typeof PAUSED | undefined => {
      if (error instanceof StoreUnavailable && !LASTING.has(error.fault)) return PAUSED;
      waiter.fail(error);
      return undefined;
    };
    try {
      const answer = desk.takeNow(waiter.key, waiter.cost);
      return isPromise(answer) ? answer.catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  }

  function answered(
    key: string,
    keyQueue: KeyQueue,
    waiter: Waiter,
    decision: Decision | typeof PAUSED | undefined,
  ): void {
    if (decision !== undefined && 'remaining' in decision && isPolled(waiter))
      turns?.answered(key, decision, keyQueue.waiting - 1);
    if (decision?.allowed && waiter.gone) ignoreFailure(() => desk.refund(key, waiter.cost.tier, decision));
    else if (isFinal(decision)) waiter.settle(decision);
    else if (decision !== undefined && headOf(keyQueue) === waiter) {
      const longest = desk.isShared ? pollAfter(isPolled(waiter), queues.size) : Infinity;
      setAlarm(key, keyQueue, Math.min(decision.retryAfter, longest));
    }
    keyQueue.asking = false;
  }

  function close(): void {
    for (const keyQueue of queues.values()) {
      keyQueue.cancelAlarm?.();
      keyQueue.asking = true;
      for (let head = headOf(keyQueue); head !== undefined; head = headOf(keyQueue)) {
        head.fail(new ClosedError());
      }
    }
    queues.clear();
  }

  function givenBack(key: string): void {
    turns?.released(key);
    nudge(key);
  }

  return { wait, givenBack, close };
}

/** Whether a decision is final, because it allows the caller or denies it permanently. */
function isFinal(decision: Decision | typeof PAUSED | undefined): decision is Decision {
  return decision?.allowed === true || decision?.retryAfter === Infinity;
}

/** A denial for a caller whose turn has not come. */
function refusal(desk: Desk, key: string, cost: CostOptions): MaybePromise<Decision> {
  return chain(desk.peek(key, cost), (decision) => ({
    ...decision,
    allowed: false,
    taken: 0,
    // Units are available, but callers that have waited longer get them first.
    retryAfter: decision.allowed ? SOON : decision.retryAfter,
  }));
}

/** The next waiter that has not left. Skips stale entries. */
function headOf({ lanes }: KeyQueue): Waiter | undefined {
  for (let lane = lanes[0]; lane !== undefined; lane = lanes[0]) {
    const { queue } = lane;
    while (queue[lane.head]?.gone) lane.head++;
    if (lane.head < queue.length) return queue[lane.head];
    lanes.shift();
  }
  return undefined;
}
