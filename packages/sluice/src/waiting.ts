/**
 * Waiting for one's turn. Each key has a line: the higher priority first, then first come first served. Only the head
 * of a line asks the store, and asks again at the instant it was told, so a big cost is not starved by small ones behind
 * it, whoever leaves the line has been charged nothing, and a line needs one alarm however long it is.
 */
import type { Clock, Decision, MaybePromise, Millis } from './contract.ts';
import { ClosedError } from './errors.ts';
import { isPromise, chain, unheard } from './maybe.ts';

/** What a line asks of its limiter. */
export interface Desk {
  /** Takes if it passes now. To be told to wait is not a denial. */
  takeNow(key: string, cost: number, tier: string | undefined): MaybePromise<Decision>;
  peek(key: string, cost: number, tier: string | undefined): MaybePromise<Decision>;
  /** `of`: the decision whose charge is given back. */
  refund(key: string, cost: number, tier: string | undefined, of: Decision): MaybePromise<Decision>;
  /** Whether something is held that its holder may release long before the announced instant. */
  isHeld(key: string, tier: string | undefined): boolean;
}

/** How often one asks again for what a holder in another process may have released. */
const POLL: Millis = 100;

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
  /** The head's question is on its way to the store. */
  asking: boolean;
  cancelAlarm: (() => void) | undefined;
}

export interface WaitingRoom {
  wait(key: string, ticket: Ticket): Promise<Decision>;
  /** Something was given back: the head may pass earlier than announced. */
  nudge(key: string): void;
  close(): void;
}

export function waitingRoom(desk: Desk, clock: Pick<Clock, 'after'>, maxWaiting: number): WaitingRoom {
  const lines = new Map<string, Line>();
  let waiting = 0;

  function wait(key: string, ticket: Ticket): Promise<Decision> {
    const { signal, timeout, cost, tier } = ticket;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (waiting >= maxWaiting) return Promise.resolve(refusal(desk, key, cost, tier));
    if (timeout <= 0) return atOnce(key, ticket);
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

  /** Without patience one does not stand in line, and passes nobody who does. */
  async function atOnce(key: string, { cost, tier, signal }: Ticket): Promise<Decision> {
    if (lines.get(key)?.cancelAlarm !== undefined) return refusal(desk, key, cost, tier);
    const decision = await desk.takeNow(key, cost, tier);
    if (decision.allowed && signal?.aborted) unheard(() => desk.refund(key, cost, tier, decision));
    signal?.throwIfAborted();
    return decision.allowed ? decision : refusal(desk, key, cost, tier);
  }

  function enqueue(waiter: Waiter): void {
    const line = lines.get(waiter.key) ?? { lanes: [], asking: false, cancelAlarm: undefined };
    lines.set(waiter.key, line);
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
    line.cancelAlarm?.();
    line.cancelAlarm = undefined;
    serve(key, line);
  }

  /** Asks for one head after the other, until one must wait. */
  function serve(key: string, line: Line): void {
    for (let head = headOf(line); head !== undefined; head = headOf(line)) {
      const waiter = head;
      line.asking = true;
      const answer = ask(waiter);
      if (isPromise(answer)) {
        void answer.then((decision) => {
          answered(key, line, waiter, decision, desk.isHeld(key, waiter.tier) ? POLL : Infinity);
          if (line.cancelAlarm === undefined) serve(key, line);
        });
        return;
      }
      answered(key, line, waiter, answer, Infinity);
      if (line.cancelAlarm !== undefined) return;
    }
    lines.delete(key);
  }

  /** Never throws and never rejects: a fault of the store is the waiter's to see. */
  function ask(waiter: Waiter): MaybePromise<Decision | undefined> {
    const failed = (error: unknown): undefined => {
      waiter.fail(error);
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
    decision: Decision | undefined,
    longest: Millis,
  ): void {
    if (decision?.allowed && waiter.gone) unheard(() => desk.refund(key, waiter.cost, waiter.tier, decision));
    else if (decision?.allowed || decision?.retryAfter === Infinity) waiter.settle(decision);
    else if (decision !== undefined && headOf(line) === waiter) {
      line.cancelAlarm = clock.after(Math.min(decision.retryAfter, longest), () => {
        line.cancelAlarm = undefined;
        serve(key, line);
      });
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

  return { wait, nudge, close };
}

/** A denial for one who never got to ask. */
function refusal(desk: Desk, key: string, cost: number, tier: string | undefined): MaybePromise<Decision> {
  return chain(desk.peek(key, cost, tier), (decision) => ({ ...decision, allowed: false, taken: 0 }));
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
