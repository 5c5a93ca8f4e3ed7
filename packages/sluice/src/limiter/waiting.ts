/**
 * Waiting for a turn. Each key has a queue: the higher priority first, then first come first served. Only the head of a
 * queue asks the store, and asks again at the instant it was told, so a large cost is not starved by small ones behind it,
 * a waiter that leaves has been charged nothing, and a queue needs one alarm however long it is.
 *
 * A store that other processes use may have room earlier than it announced, so the head also polls. And a process that
 * serves its own queue for a while lets the others have a turn: see turns.ts.
 */
import type { Clock, Decision, MaybePromise, Millis } from '../engine/contract.ts';
import { ClosedError, type StoreFault, StoreUnavailable } from '../internal/errors.ts';
import { isPromise, chain, ignoreFailure } from '../internal/maybe-promise.ts';
import { pollAfter, type Turns, turnsOf } from './turns.ts';

/** What a queue asks of its limiter. */
export interface Desk {
  /** Takes if it passes now. To be told to wait is not a denial. */
  takeNow(key: string, cost: number, tier: string | undefined): MaybePromise<Decision>;
  peek(key: string, cost: number, tier: string | undefined): MaybePromise<Decision>;
  /** `of`: the decision whose charge is given back. */
  refund(key: string, cost: number, tier: string | undefined, of: Decision): MaybePromise<Decision>;
  /** Whether something is held that its holder may release long before the announced instant. */
  isHeld(key: string, tier: string | undefined): boolean;
  /** Whether other processes or threads may use the store, so that it can change without a nudge. */
  readonly isShared: boolean;
}

/** Waiters over all keys, as a multiple of the most that one key may have. */
const ALL_KEYS = 2;
/** What a refusal announces when the store would have let the caller pass, had nobody been waiting before it. */
const SOON: Millis = 100;

/** Faults that do not pass by themselves: a waiter is told of them. */
const LASTING: ReadonlySet<StoreFault> = new Set(['wrong-type', 'no-permission', 'script', 'unknown']);

/** In place of a decision: the store is unavailable for the moment. Whoever waits goes on waiting, and asks again. */
const PAUSED = { allowed: false, retryAfter: 100 } as const;

export interface Ticket {
  readonly cost: number;
  readonly tier: string | undefined;
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
  /** Who stood before this one has left. */
  head: number;
  /** How many in the queue have left. */
  gone: number;
}

/** Waiters of one key, by priority. */
interface Line {
  readonly lanes: Lane[];
  waiting: number;
  /** The head's question is on its way to the store. */
  asking: boolean;
  cancelAlarm: (() => void) | undefined;
  /** The alarm ends a pause in which other processes may take what this one has given back. */
  yielding?: boolean;
}

export interface WaitingRoom {
  wait(key: string, ticket: Ticket): Promise<Decision>;
  /** Something was given back: the head may pass earlier than announced. */
  givenBack(key: string): void;
  close(): void;
}

export function waitingRoom(desk: Desk, clock: Pick<Clock, 'after'>, maxWaiting: number): WaitingRoom {
  const lines = new Map<string, Line>();
  const turns: Turns | undefined = desk.isShared ? turnsOf() : undefined;
  let waiting = 0;

  function wait(key: string, ticket: Ticket): Promise<Decision> {
    const { signal, timeout, cost, tier } = ticket;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const isFull = waiting >= ALL_KEYS * maxWaiting || (lines.get(key)?.waiting ?? 0) >= maxWaiting;
    if (timeout <= 0 || isFull) return withoutWaiting(key, ticket);
    return new Promise<Decision>((resolve, reject) => {
      let cancelTimeout: (() => void) | undefined;
      const onAbort = (): void => waiter.fail(signal?.reason);
      const waiter: Waiter = {
        ...ticket,
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
      cancelTimeout = clock.after(timeout, () => waiter.settle(refusal(desk, key, cost, tier)));
    });
  }

  /** Asks once, outside the queue, unless somebody in it is waiting already: nobody is overtaken. */
  async function withoutWaiting(key: string, { cost, tier, signal }: Ticket): Promise<Decision> {
    if (lines.get(key)?.cancelAlarm !== undefined) return refusal(desk, key, cost, tier);
    const decision = await desk.takeNow(key, cost, tier);
    if (decision.allowed && signal?.aborted) ignoreFailure(() => desk.refund(key, cost, tier, decision));
    signal?.throwIfAborted();
    return decision.allowed ? decision : refusal(desk, key, cost, tier);
  }

  function enqueue(waiter: Waiter): void {
    const line = lines.get(waiter.key) ?? { lanes: [], waiting: 0, asking: false, cancelAlarm: undefined };
    lines.set(waiter.key, line);
    line.waiting++;
    const { lanes } = line;
    let place = lanes.findIndex((lane) => lane.priority <= waiter.priority);
    if (place < 0) place = lanes.length;
    if (lanes[place]?.priority !== waiter.priority)
      lanes.splice(place, 0, { priority: waiter.priority, queue: [], head: 0, gone: 0 });
    lanes[place]?.queue.push(waiter);
    if (headOf(line) === waiter) nudge(waiter.key);
  }

  /** True: it stood at the head of its line. */
  function depart(waiter: Waiter): boolean {
    const line = lines.get(waiter.key);
    const isNext = line !== undefined && headOf(line) === waiter;
    waiter.gone = true;
    if (line !== undefined) line.waiting--;
    const lane = line?.lanes.find(({ priority }) => priority === waiter.priority);
    // Many at a time: one by one would copy the rest each time. But a line behind one who waits for long must not grow.
    if (lane !== undefined && ++lane.gone > 1000 && 2 * lane.gone > lane.queue.length) {
      lane.queue = lane.queue.filter(({ gone }) => !gone);
      lane.head = lane.gone = 0;
    }
    return isNext;
  }

  function nudge(key: string): void {
    const line = lines.get(key);
    if (line === undefined || line.asking) return;
    const head = headOf(line);
    if (line.yielding && head !== undefined) return;
    line.cancelAlarm?.();
    line.cancelAlarm = undefined;
    const pause = head !== undefined && isPolled(head) ? turns?.pauseFor(key, lines.size) : 0;
    if (pause) {
      line.yielding = true;
      setAlarm(key, line, pause);
    } else serve(key, line);
  }

  function setAlarm(key: string, line: Line, delay: Millis): void {
    line.cancelAlarm = clock.after(delay, () => {
      line.cancelAlarm = undefined;
      line.yielding = false;
      serve(key, line);
    });
  }

  /** Whether room may come from a holder in another process at any time. */
  function isPolled({ key, tier }: Waiter): boolean {
    return desk.isShared && desk.isHeld(key, tier);
  }

  /** Asks for one head after the other, until one must wait. */
  function serve(key: string, line: Line): void {
    for (let head = headOf(line); head !== undefined; head = headOf(line)) {
      const waiter = head;
      line.asking = true;
      const answer = ask(waiter);
      if (isPromise(answer)) {
        void answer.then((decision) => {
          answered(key, line, waiter, decision);
          if (line.cancelAlarm === undefined) serve(key, line);
        });
        return;
      }
      answered(key, line, waiter, answer);
      if (line.cancelAlarm !== undefined) return;
    }
    lines.delete(key);
  }

  /** Never throws and never rejects: the waiter is told of a fault that will not pass. */
  function ask(waiter: Waiter): MaybePromise<Decision | typeof PAUSED | undefined> {
    const failed = (error: unknown): typeof PAUSED | undefined => {
      if (error instanceof StoreUnavailable && !LASTING.has(error.fault)) return PAUSED;
      waiter.fail(error);
      return undefined;
    };
    try {
      const answer = desk.takeNow(waiter.key, waiter.cost, waiter.tier);
      return isPromise(answer) ? answer.catch(failed) : answer;
    } catch (error) {
      return failed(error);
    }
  }

  function answered(
    key: string,
    line: Line,
    waiter: Waiter,
    decision: Decision | typeof PAUSED | undefined,
  ): void {
    if (decision !== undefined && 'remaining' in decision && isPolled(waiter))
      turns?.answered(key, decision, line.waiting - 1);
    if (decision?.allowed && waiter.gone)
      ignoreFailure(() => desk.refund(key, waiter.cost, waiter.tier, decision));
    else if (isFinal(decision)) waiter.settle(decision);
    else if (decision !== undefined && headOf(line) === waiter) {
      const longest = desk.isShared ? pollAfter(isPolled(waiter), lines.size) : Infinity;
      setAlarm(key, line, Math.min(decision.retryAfter, longest));
    }
    line.asking = false;
  }

  function close(): void {
    for (const line of lines.values()) {
      line.cancelAlarm?.();
      line.asking = true;
      for (let head = headOf(line); head !== undefined; head = headOf(line)) {
        head.fail(new ClosedError());
      }
    }
    lines.clear();
  }

  function givenBack(key: string): void {
    turns?.released(key);
    nudge(key);
  }

  return { wait, givenBack, close };
}

/** Allowed, or denied for good. */
function isFinal(decision: Decision | typeof PAUSED | undefined): decision is Decision {
  return decision?.allowed === true || decision?.retryAfter === Infinity;
}

/** A denial for a caller whose turn has not come. */
function refusal(desk: Desk, key: string, cost: number, tier: string | undefined): MaybePromise<Decision> {
  return chain(desk.peek(key, cost, tier), (decision) => ({
    ...decision,
    allowed: false,
    taken: 0,
    // There is room, but for those who have waited longer.
    retryAfter: decision.allowed ? SOON : decision.retryAfter,
  }));
}

/** The next waiter who has not left; those who have are dropped on the way. */
function headOf({ lanes }: Line): Waiter | undefined {
  for (let lane = lanes[0]; lane !== undefined; lane = lanes[0]) {
    const { queue } = lane;
    while (queue[lane.head]?.gone) lane.head++;
    if (lane.head < queue.length) return queue[lane.head];
    lanes.shift();
  }
  return undefined;
}
