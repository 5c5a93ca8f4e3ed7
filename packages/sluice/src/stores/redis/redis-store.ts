/**
 * One script call decides a hit, or all hits of one tick that share a plan. The row lives in the server, and so does
 * the clock. What may go wrong on the way is left to the wrappers.
 */
import { clockOf, type GivenClock, systemClock } from '../../internal/clock.ts';
import type { Decision, Hit, Millis, Plan, Store, Verb } from '../../engine/contract.ts';
import { StoreError } from '../../internal/errors.ts';
import type { Connection } from './connections.ts';
import { warnOfEviction } from './eviction.ts';
import { keyOf, prefixOf } from './key.ts';
import { decisionsIn } from './reply.ts';
import { missingRight } from './rights.ts';
import { type ScriptPlan, scriptPlan } from './script.ts';

interface Pending {
  readonly hit: Hit;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** Hits of one plan that wait to travel together. */
interface Line {
  readonly plan: Plan;
  readonly script: ScriptPlan;
  readonly prefix: string;
  waiting: Pending[];
  scheduled: boolean;
  inFlight: number;
  /** Sends those who wait although calls are under way, which may never return. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** Hits per call: the server does nothing else meanwhile. */
const BATCH = 64;
/** With so many calls under way, the next hits wait for one of them to return, and travel together. */
const CALLS = 2;
/** But no longer than this, in milliseconds. */
const PATIENCE = 5;
/** How often a cluster's client may leave it to us to follow a slot that moves. */
const REDIRECTS = 20;

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PATIENCE));

const LETTERS: Readonly<Record<Exclude<Verb, 'take'>, string>> = {
  peek: 'k',
  refund: 'f',
  release: 'l',
  renew: 'n',
  reserve: 'r',
  block: 'b',
  reset: 'z',
};
const MODES = { whole: '', partial: 'p', always: 'a' } as const;

export interface RedisStore extends Store<Promise<Decision>> {
  /** The node of a cluster that a hit is for, if the client knows it. */
  readonly nodeOf: ((hit: Hit) => string | undefined) | undefined;
}

export function redisStore(connection: Connection, given?: GivenClock): RedisStore {
  const clock = given === undefined ? undefined : clockOf('redis.clock', given);
  const lines = new WeakMap<Plan, Line>();
  let answered = false;

  function lineOf(plan: Plan): Line {
    const known = lines.get(plan);
    if (known !== undefined) return known;
    const script = scriptPlan(plan);
    const line: Line = {
      plan,
      script,
      prefix: prefixOf(plan.name),
      waiting: [],
      scheduled: false,
      inFlight: 0,
      timer: undefined,
    };
    lines.set(plan, line);
    return line;
  }

  function apply(hit: Hit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const line = lineOf(hit.plan);
      line.waiting.push({ hit, resolve, reject });
      if (line.scheduled) return;
      line.scheduled = true;
      queueMicrotask(() => flush(line));
    });
  }

  function flush(line: Line): void {
    line.scheduled = false;
    if (connection.cluster) {
      for (const pending of line.waiting) void send(line, [pending]);
      line.waiting = [];
      return;
    }
    while (line.waiting.length >= BATCH || (line.waiting.length > 0 && line.inFlight < CALLS)) {
      void send(line, line.waiting.splice(0, BATCH));
    }
    if (line.waiting.length === 0 || line.timer !== undefined) return;
    line.timer = setTimeout(() => {
      line.timer = undefined;
      if (line.waiting.length > 0) void send(line, line.waiting.splice(0, BATCH));
    }, PATIENCE);
  }

  async function send(line: Line, batch: readonly Pending[]): Promise<void> {
    line.inFlight++;
    try {
      const { script, prefix } = line;
      const time = clock === undefined ? '' : String(clock.now());
      const keys = batch.map(({ hit }) => keyOf(prefix, hit.key));
      const distinct = keys.length > 1 && new Set(keys).size === keys.length;
      const head = [`${connection.binary ? '' : 'x'}${distinct ? 'd' : ''}${time}`, script.mark];
      const words = batch.map(({ hit }) => wordOf(hit));
      const hits = words.every((word) => word === words[0]) ? [words[0]] : words;
      const argsAt = (now: Millis) => [...head, ...script.args(now), ...hits];
      settle(line.plan, batch, await evaluate(script, keys, argsAt));
      if (!answered) {
        answered = true;
        void warnOfEviction(connection, keys[0]);
      }
    } catch (error) {
      for (const pending of batch) pending.reject(error);
    }
    line.inFlight--;
    if (line.waiting.length > 0 && !line.scheduled) flush(line);
  }

  /** A refusal that comes before the script has run may be followed by another try; nothing else may. */
  async function evaluate(
    script: ScriptPlan,
    keys: readonly string[],
    argsAt: (now: Millis) => readonly string[],
  ): Promise<unknown> {
    let args = argsAt(clock?.now() ?? Date.now());
    let known = true;
    for (let tries = 1; ; tries++) {
      try {
        return await (known
          ? connection.evaluate('EVALSHA', script.sha, keys, args)
          : connection.evaluate('EVAL', script.source, keys, args));
      } catch (error) {
        const [, time] = /\bCLOCK ([\d.]+)/.exec(String(error)) ?? [];
        if (known && /noscript/i.test(String(error))) known = false;
        // Ours is far from the server's: the calendar's edges once more, by that.
        else if (time !== undefined && tries < REDIRECTS) args = argsAt(Number(time));
        else if (connection.cluster && tries < REDIRECTS && /\b(moved|ask|tryagain)\b/i.test(String(error)))
          await pause();
        else throw missingRight(error) ?? error;
      }
    }
  }

  return {
    clock: clock ?? systemClock,
    nodeOf: connection.nodeOf && (({ plan, key }) => connection.nodeOf?.(keyOf(lineOf(plan).prefix, key))),
    apply,
    close() {
      connection.close?.();
    },
  };
}

function wordOf({ verb, mode, cost, span, of }: Hit): string {
  const word = (verb === 'take' ? MODES[mode] : LETTERS[verb]) + cost;
  const hasSpan = verb === 'reserve' || verb === 'block' || (verb === 'take' && mode === 'always');
  if (hasSpan) return `${word} ${span === Infinity ? '1e308' : span}`;
  return of?.at === undefined ? word : `${word} ${of.at}`;
}

/** Hands every hit its part of the reply, or the reason why there is none. */
function settle(plan: Plan, batch: readonly Pending[], reply: unknown): void {
  const [packed, ...failures] = Array.isArray(reply) ? (reply as unknown[]) : [reply];
  const failed = new Map<number, string>();
  for (let i = 0; i < failures.length; i += 2) failed.set(Number(failures[i]) - 1, String(failures[i + 1]));
  const next = decisionsIn(packed, plan);
  for (let i = 0; i < batch.length; i++) {
    const { hit, resolve, reject } = batch[i];
    const failure = failed.get(i);
    if (failure === undefined) resolve(next(hit));
    else reject(missingRight(failure) ?? new StoreError(failure));
  }
}
