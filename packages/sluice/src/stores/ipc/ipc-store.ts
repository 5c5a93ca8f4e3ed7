/** The client side of ipc. It sends hits to the serving process, which may be this process. `resilient` handles all faults. */
import type { Socket } from 'node:net';
import type { AlgorithmsByName } from '../../algorithms/by-name.ts';
import { systemClock } from '../../internal/clock.ts';
import type { Decision, Hit, Millis, Plan, Store } from '../../engine/contract.ts';
import { chain } from '../../internal/maybe-promise.ts';
import { StoreError, StoreUnavailable } from '../../internal/errors.ts';
import { dial, elect, isUnserved } from './election.ts';
import { serve } from './server.ts';
import type { Outcome } from '../wire/decider.ts';
import type { Table } from './table.ts';
import { batchesOf, failureOf, type Pending, refuse, settle } from '../wire/pending.ts';
import { answersIn, askOf, lineReader, planText } from '../wire/wire.ts';

interface Waiting extends Pending {
  /** The instant after which the hit is not sent, because its caller has stopped waiting. */
  readonly due: Millis;
}

/** Hits that are sent together. Either they are one group, or none of them belongs to a group. */
interface Line {
  readonly number: number;
  readonly hits: readonly Waiting[];
  /** True if the line was already sent to a process that ended before it answered. */
  readonly isAgain: boolean;
}

/** The destination of hits, which is another process or this process. */
interface Link {
  send(line: Line): void;
  close(): void | Promise<void>;
}

/**
 * Minimum pause between two attempts to connect, in milliseconds. A random duration of up to the same length is added, so that
 * processes do not collide repeatedly.
 */
const PAUSE = 5;

export interface IpcStoreOptions {
  readonly path: string;
  /** The table with which this process decides while it serves. Undefined if it never serves. */
  readonly table: Table | undefined;
  readonly algorithms: AlgorithmsByName;
  readonly deadline: Millis;
}

export function ipcStore({ path, table, algorithms, deadline }: IpcStoreOptions): Store<Promise<Decision>> {
  const texts = new WeakMap<Plan, string>();
  /** Identifies this client in the lines that it sends. */
  const client = crypto.randomUUID();
  let lines = 0;
  let waiting: Waiting[] = [];
  /** Lines that were sent but not answered. The next serving process knows which of them were decided. */
  let unanswered: Line[] = [];
  let scheduled = false;
  let link: Link | undefined;
  let linking = false;
  let closed = false;

  function textOf(plan: Plan): string {
    const text = texts.get(plan) ?? planText(plan, algorithms);
    texts.set(plan, text);
    return text;
  }

  function enqueue(hit: Hit, due: Millis, group?: readonly Hit[]): Promise<Decision | undefined> {
    return new Promise((resolve, reject) => {
      const plan = textOf(hit.plan);
      waiting.push({ hit, plan, due, group, resolve, reject });
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(flush);
    });
  }

  /** Sends the hits to the serving process as one line, which that process decides in one step. */
  async function takeAll(hits: readonly Hit[]): Promise<Decision[] | undefined> {
    // Throws before any hit is sent if one of the plans cannot be sent. All hits have the same due time, so that either all of them
    // are sent or none.
    for (const { plan } of hits) textOf(plan);
    const due = performance.now() + deadline;
    const decisions = await Promise.all(hits.map((hit) => enqueue(hit, due, hits)));
    return decisions.includes(undefined) ? undefined : (decisions as Decision[]);
  }

  function flush(): void {
    scheduled = false;
    if (closed) {
      refuseAll(new StoreError('connection closed'));
    } else if (link === undefined) {
      void findLink();
    } else {
      refuseOverdue();
      for (const line of unanswered.splice(0)) link.send(line);
      for (const hits of batchesOf(waiting.splice(0))) link.send({ number: ++lines, hits, isAgain: false });
    }
  }

  function refuseAll(error: unknown): void {
    for (const { hits } of unanswered.splice(0)) refuse(hits, error);
    refuse(waiting.splice(0), error);
  }

  /**
   * Rejects hits whose callers have stopped waiting. A hit that was never sent gets an error which proves that it was not applied.
   */
  function refuseOverdue(): void {
    const now = performance.now();
    for (const { hits } of unanswered.filter(({ hits }) => hits.every(({ due }) => due <= now)))
      refuse(hits, new StoreError('connection closed'));
    unanswered = unanswered.filter(({ hits }) => hits.some(({ due }) => due > now));
    const overdue = waiting.filter(({ due }) => due <= now);
    if (overdue.length === 0) return;
    waiting = waiting.filter(({ due }) => due > now);
    refuse(overdue, new StoreUnavailable('deadline'));
  }

  /** Tries to connect until a link is established. With `eager`, it tries even if no hit is waiting. */
  async function findLink(eager = false): Promise<void> {
    if (linking) return;
    linking = true;
    try {
      while (link === undefined && !closed && (eager || isAwaited())) {
        link = await tryOnce();
        if (link === undefined) await pause();
        refuseOverdue();
      }
    } catch (error) {
      refuseAll(error);
    }
    linking = false;
    if (closed) await link?.close();
    else if (isAwaited()) flush();
  }

  function isAwaited(): boolean {
    return waiting.length + unanswered.length > 0;
  }

  /** Tries once to connect or to serve. Returns undefined if another process is about to serve. */
  async function tryOnce(): Promise<Link | undefined> {
    try {
      return remote(await dial(path));
    } catch (error) {
      if (table === undefined || !isUnserved(error)) throw error;
    }
    const server = await elect(path, () => serve(path, table, () => forget(own)));
    const own: Link | undefined = server && {
      send: (line) => decideHere(line, table),
      close: () => server.close(),
    };
    return own;
  }

  function forget(lost: Link | undefined): void {
    if (link === lost) link = undefined;
  }

  /** Decides in this process, without a socket. */
  function decideHere({ number, hits, isAgain }: Line, own: Table): void {
    const tell = ({ hit, resolve, reject }: Pending, told: Outcome | undefined): void =>
      told !== undefined && 'error' in told ? reject(failureOf(told.error, hit)) : resolve(told);
    if (hits[0].group === undefined) {
      for (const [i, outcome] of own.decide(askOf(hits, client, number, isAgain)).entries())
        void chain(outcome, (told) => tell(hits[i], told));
    } else {
      void chain(own.decideAll(askOf(hits, client, number, isAgain, true)), (outcomes) => {
        for (const [i, pending] of hits.entries()) tell(pending, outcomes[i]);
      });
    }
  }

  function remote(socket: Socket): Link {
    const sent: Line[] = [];
    const own: Link = {
      send(line) {
        sent.push(line);
        const { hits, number, isAgain } = line;
        const ask = askOf(hits, client, number, isAgain, hits[0].group !== undefined);
        socket.write(`${JSON.stringify(ask)}\n`);
      },
      close: () => void socket.destroy(),
    };
    socket.unref();
    socket.setEncoding('utf8');
    const read = lineReader((line) => {
      // If `answersIn` throws, the socket is destroyed, and this line is handled like all other unanswered lines.
      const answers = answersIn(line);
      settle(sent.shift()?.hits ?? [], answers);
    });
    socket.on('data', (piece: string) => {
      try {
        read(piece);
      } catch {
        socket.destroy();
      }
    });
    // This listener is empty, because a 'close' event follows, and its listener handles the failure.
    socket.on('error', () => {});
    socket.on('close', () => {
      forget(own);
      for (const line of sent.splice(0)) unanswered.push({ ...line, isAgain: true });
      if (closed) refuseAll(new StoreError('connection closed'));
      // The serving process is gone, and another one must take over before the next check.
      else void findLink(table !== undefined);
    });
    return own;
  }

  // The link is established immediately, so that the first process that creates its store becomes the serving process, even if it
  // never checks anything itself.
  if (table !== undefined) void findLink(true);

  return {
    clock: systemClock,
    apply: (hit) => enqueue(hit, performance.now() + deadline) as Promise<Decision>,
    allTaker: (hits) => () => takeAll(hits),
    async close() {
      closed = true;
      refuseAll(new StoreError('connection closed'));
      const last = link;
      link = undefined;
      await last?.close();
    },
  };
}

/** Waits between two attempts. The timer does not keep the process alive, but the deadlines of waiting callers do. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE + Math.random() * PAUSE).unref());
}
