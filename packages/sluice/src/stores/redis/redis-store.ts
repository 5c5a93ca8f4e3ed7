/**
 * Decides a hit, or all hits of one tick that share a plan, with one script call. The server keeps the rows and provides the
 * time. Timeouts and failures are handled by the wrappers.
 */
import { clockOf, type GivenClock, systemClock } from '../../internal/clock.ts';
import {
  type Decision,
  type Hit,
  isPlain,
  type Millis,
  type Plan,
  type Store,
} from '../../engine/contract.ts';
import { futureInstant } from '../../engine/decide.ts';
import { StoreError } from '../../internal/errors.ts';
import type { Connection } from './connections.ts';
import { warnOfEviction } from './eviction.ts';
import { keyOf, prefixOf } from './key.ts';
import { allCall } from './all-call.ts';
import { slotOf } from './hash-slots.ts';
import { decisionsIn } from './reply.ts';
import { missingRight } from './rights.ts';
import { type Script, type ScriptPlan, scriptPlan } from './script.ts';
import { wordOf } from './words.ts';

interface Pending {
  readonly hit: Hit;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** Hits of one plan, which are sent in batches. */
interface Queue {
  readonly plan: Plan;
  readonly script: ScriptPlan;
  readonly prefix: string;
  waiting: Pending[];
  scheduled: boolean;
  inFlight: number;
  /** Timer that sends the waiting hits even if no call returns. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Maximum number of hits per call, because the server does nothing else until the call returns. */
const BATCH = 64;
/** While this many calls are in flight, further hits wait until one of the calls returns, and are then sent as a batch. */
const MAX_IN_FLIGHT = 2;
/** The longest time that a hit waits for a call to return, in milliseconds. */
const MAX_WAIT = 5;
/**
 * Maximum number of times that a call is sent again because its slot is moving to another node and the cluster client does not
 * follow the redirect.
 */
const REDIRECTS = 20;

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, MAX_WAIT));

export interface RedisStore extends Store<Promise<Decision>> {
  /** The cluster node that serves a hit's key, if the client knows it. */
  readonly nodeOf: ((hit: Hit) => string | undefined) | undefined;
}

export function redisStore(connection: Connection, given?: GivenClock): RedisStore {
  const clock = given === undefined ? undefined : clockOf('redis.clock', given);
  const queues = new WeakMap<Plan, Queue>();
  let answered = false;

  function queueOf(plan: Plan): Queue {
    const known = queues.get(plan);
    if (known !== undefined) return known;
    const script = scriptPlan(plan);
    const queue: Queue = {
      plan,
      script,
      prefix: prefixOf(plan.name),
      waiting: [],
      scheduled: false,
      inFlight: 0,
      timer: undefined,
    };
    queues.set(plan, queue);
    return queue;
  }

  function apply(hit: Hit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const queue = queueOf(hit.plan);
      queue.waiting.push({ hit, resolve, reject });
      if (queue.scheduled) return;
      queue.scheduled = true;
      queueMicrotask(() => flush(queue));
    });
  }

  function flush(queue: Queue): void {
    queue.scheduled = false;
    if (connection.cluster) {
      for (const pending of queue.waiting) void send(queue, [pending]);
      queue.waiting = [];
      return;
    }
    const maxInFlight = connection.isStateless === true ? Infinity : MAX_IN_FLIGHT;
    while (queue.waiting.length >= BATCH || (queue.waiting.length > 0 && queue.inFlight < maxInFlight)) {
      void send(queue, queue.waiting.splice(0, BATCH));
    }
    if (queue.waiting.length === 0 || queue.timer !== undefined) return;
    queue.timer = setTimeout(() => {
      queue.timer = undefined;
      if (queue.waiting.length > 0) void send(queue, queue.waiting.splice(0, BATCH));
    }, MAX_WAIT);
  }

  async function send(queue: Queue, batch: readonly Pending[]): Promise<void> {
    queue.inFlight++;
    try {
      const { script, prefix } = queue;
      const keys = batch.map(({ hit }) => keyOf(prefix, hit.key));
      const distinct = keys.length > 1 && new Set(keys).size === keys.length;
      const options = `${distinct ? 'd' : ''}${clock === undefined ? '' : clock.now()}`;
      // For clients that exchange text, each hit is sent as a word, which people can read when they debug.
      const cost = connection.binary ? commonCost(batch) : -1;
      const words = cost < 0 ? wordsOf(batch) : [];
      const argsAt = (now: Millis) => {
        const head = script.head(cost, options, now);
        return connection.binary ? [head, ...words] : ['x', head.toString('hex'), ...words];
      };
      settle(queue.plan, batch, await evaluate(script, keys, argsAt));
    } catch (error) {
      for (const pending of batch) pending.reject(error);
    }
    queue.inFlight--;
    if (queue.waiting.length > 0 && !queue.scheduled) flush(queue);
  }

  /** Sends a call, and sends it again only if the server rejected it before the script wrote anything. */
  async function evaluate(
    script: Script,
    keys: readonly string[],
    argsAt: (now: Millis) => readonly (string | Buffer)[],
  ): Promise<unknown> {
    let args = argsAt(clock?.now() ?? Date.now());
    let known = true;
    for (let tries = 1; ; tries++) {
      try {
        const reply = await (known
          ? connection.evaluate('EVALSHA', script.sha, keys, args)
          : connection.evaluate('EVAL', script.source, keys, args));
        if (!answered) void warnOfEviction(connection, keys[0]);
        answered = true;
        return reply;
      } catch (error) {
        const [, time] = /\bCLOCK ([\d.]+)/.exec(String(error)) ?? [];
        if (known && /noscript/i.test(String(error))) known = false;
        // This process's clock differs too much from the server's. Send the boundaries of calendar windows for the server's time.
        else if (time !== undefined && tries < REDIRECTS) args = argsAt(Number(time));
        else if (connection.cluster && tries < REDIRECTS && /\b(moved|ask|tryagain)\b/i.test(String(error)))
          await pause();
        else throw missingRight(error) ?? error;
      }
    }
  }

  return {
    clock: clock ?? systemClock,
    nodeOf: connection.nodeOf && (({ plan, key }) => connection.nodeOf?.(keyOf(queueOf(plan).prefix, key))),
    apply,
    /** Decides with one script call. Returns undefined if the keys are in different slots of a cluster. */
    allTaker(hits) {
      const keys = hits.map(({ plan, key }) => keyOf(queueOf(plan).prefix, key));
      if (connection.cluster && new Set(keys.map(slotOf)).size > 1) return undefined;
      return async () => {
        const call = allCall(hits, (plan) => queueOf(plan).script, connection.binary);
        const time = clock?.now();
        return call.decisionsIn(await evaluate(call.script, keys, (now) => call.argsAt(now, time)));
      };
    },
    close() {
      connection.close?.();
    },
  };
}

/** The cost of all hits if they are takes in mode 'whole' with the same cost; otherwise -1. */
function commonCost(batch: readonly Pending[]): number {
  const { cost } = batch[0].hit;
  const isCommon = batch.every(
    ({ hit }) => hit.verb === 'take' && hit.mode === 'whole' && isPlain(hit) && hit.cost === cost,
  );
  return isCommon && typeof cost === 'number' ? cost : -1;
}

/** One word per hit, or a single word if all words are equal. */
function wordsOf(batch: readonly Pending[]): string[] {
  const words = batch.map(({ hit }) => wordOf(hit));
  return words.every((word) => word === words[0]) ? words.slice(0, 1) : words;
}

/** Resolves every hit with its part of the reply, or rejects it with the server's error. */
function settle(plan: Plan, batch: readonly Pending[], reply: unknown): void {
  const [packed, ...failures] = Array.isArray(reply) ? (reply as unknown[]) : [reply];
  const failed = new Map<number, string>();
  for (let i = 0; i < failures.length; i += 2) failed.set(Number(failures[i]) - 1, String(failures[i + 1]));
  const next = decisionsIn(packed, plan);
  for (let i = 0; i < batch.length; i++) {
    const { hit, resolve, reject } = batch[i];
    const failure = failed.get(i);
    if (failure === undefined) resolve(next(hit));
    else if (failure === 'FUTURE') reject(futureInstant(hit.of?.at));
    else reject(missingRight(failure) ?? new StoreError(failure));
  }
}
