/** The side that asks: whoever serves, or this process itself. What may go wrong on the way is left to `resilient`. */
import type { Socket } from 'node:net';
import type { AlgorithmsByName } from '../../algorithms/by-name.ts';
import { systemClock } from '../../clock.ts';
import type { Decision, Hit, Millis, Plan, Store } from '../../contract.ts';
import { StoreError, StoreUnavailable } from '../../errors.ts';
import { dial, isNobody, stand } from './election.ts';
import { type Decide, serve } from './server.ts';
import { answersIn, askLine, decisionFrom, isDecisionLine, lineReader, planText } from './wire.ts';

interface Pending {
  readonly hit: Hit;
  readonly plan: string;
  /** Not sent after this: its caller has been told something else by then. */
  readonly due: Millis;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** Where hits go: another process, or this one. */
interface Link {
  send(batch: readonly Pending[]): void;
  close(): void | Promise<void>;
}

/** Between two tries, in milliseconds; as much again at random, so that processes do not meet forever. */
const PAUSE = 5;
/** Hits in a line. */
const BATCH = 256;

export interface IpcStoreOptions {
  readonly path: string;
  /** What this process decides with while it serves; undefined: it never does. */
  readonly decide: Decide | undefined;
  readonly algorithms: AlgorithmsByName;
  readonly deadline: Millis;
}

export function ipcStore({ path, decide, algorithms, deadline }: IpcStoreOptions): Store<Promise<Decision>> {
  const texts = new WeakMap<Plan, string>();
  let waiting: Pending[] = [];
  let scheduled = false;
  let link: Link | undefined;
  let linking = false;
  let closed = false;

  function textOf(plan: Plan): string {
    const text = texts.get(plan) ?? planText(plan, algorithms);
    texts.set(plan, text);
    return text;
  }

  function apply(hit: Hit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const plan = textOf(hit.plan);
      waiting.push({ hit, plan, due: performance.now() + deadline, resolve, reject });
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(flush);
    });
  }

  function flush(): void {
    scheduled = false;
    if (closed) {
      refuse(waiting.splice(0), new StoreError('connection closed'));
    } else if (link === undefined) {
      void findLink();
    } else {
      refuseOverdue();
      const ready = waiting.splice(0);
      for (let i = 0; i < ready.length; i += BATCH) link.send(ready.slice(i, i + BATCH));
    }
  }

  /** Their callers have been told something else by now. With this error it is certain that they were not sent. */
  function refuseOverdue(): void {
    const now = performance.now();
    const overdue = waiting.filter(({ due }) => due <= now);
    if (overdue.length === 0) return;
    waiting = waiting.filter(({ due }) => due > now);
    refuse(overdue, new StoreUnavailable('deadline'));
  }

  /** Tries until there is one; `eager`: also when no hit waits for it. */
  async function findLink(eager = false): Promise<void> {
    if (linking) return;
    linking = true;
    try {
      while (link === undefined && !closed && (eager || waiting.length > 0)) {
        link = await tryOnce();
        if (link === undefined) await pause();
        refuseOverdue();
      }
    } catch (error) {
      refuse(waiting.splice(0), error);
    }
    linking = false;
    if (closed) await link?.close();
    else if (waiting.length > 0) flush();
  }

  /** Undefined: somebody is about to serve. */
  async function tryOnce(): Promise<Link | undefined> {
    try {
      return remote(await dial(path));
    } catch (error) {
      if (decide === undefined || !isNobody(error)) throw error;
    }
    const server = await stand(path, () => serve(path, decide, () => forget(own)));
    const own: Link | undefined = server && {
      send: (batch) => decideHere(batch, decide),
      close: () => server.close(),
    };
    return own;
  }

  function forget(lost: Link | undefined): void {
    if (link === lost) link = undefined;
  }

  function remote(socket: Socket): Link {
    const sent: (readonly Pending[])[] = [];
    const own: Link = {
      send(batch) {
        sent.push(batch);
        socket.write(askLine(batch));
      },
      close: () => void socket.destroy(),
    };
    socket.unref();
    socket.setEncoding('utf8');
    const read = lineReader((line) => {
      // If this throws, who asked is refused with the others.
      const answers = answersIn(line);
      settle(sent.shift() ?? [], answers);
    });
    socket.on('data', (piece: string) => {
      try {
        read(piece);
      } catch {
        socket.destroy();
      }
    });
    // Followed by 'close'.
    socket.on('error', () => {});
    socket.on('close', () => {
      forget(own);
      for (const batch of sent.splice(0)) refuse(batch, new StoreError('connection closed'));
      // Whoever served is gone: somebody must take over before the next check comes.
      if (decide !== undefined) void findLink(true);
    });
    return own;
  }

  // At once: who made this store first shall serve, whether or not it ever checks anything itself.
  if (decide !== undefined) void findLink(true);

  return {
    clock: systemClock,
    apply,
    async close() {
      closed = true;
      refuse(waiting.splice(0), new StoreError('connection closed'));
      const last = link;
      link = undefined;
      await last?.close();
    },
  };
}

function settle(batch: readonly Pending[], answers: readonly unknown[]): void {
  for (const [i, { hit, resolve, reject }] of batch.entries()) {
    const answer = answers[i];
    if (isDecisionLine(answer, hit)) resolve(decisionFrom(answer, hit));
    else reject(new StoreError(typeof answer === 'string' ? answer : 'no answer'));
  }
}

/** Holds no process: whoever waits has a deadline that does. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE + Math.random() * PAUSE).unref());
}

function refuse(batch: readonly Pending[], error: unknown): void {
  for (const { reject } of batch) reject(error);
}

/** The same as for others, without the way there and back. */
function decideHere(batch: readonly Pending[], decide: Decide): void {
  for (const { hit, plan, resolve, reject } of batch) {
    try {
      Promise.resolve(decide(plan, (own) => ({ ...hit, plan: own }))).then(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }
}
