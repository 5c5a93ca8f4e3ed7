/** Processes that hammer one server together. */
import { fork } from 'node:child_process';
import { once } from 'node:events';

export interface Blow {
  readonly policies: 'gcra' | 'slidingLog' | 'fixedWindow' | 'slidingWindow' | 'two policies';
  readonly limit: number;
  readonly name: string;
  readonly inherit?: 'as-is' | 'proportional' | 'additive' | 'reset' | undefined;
  readonly key: string;
  /** Number of keys that start with `key` and are checked in turn; undefined: only `key` itself. */
  readonly keys?: number | undefined;
  /** Checks in flight at once, and in all. */
  readonly lanes: number;
  readonly checks: number;
}

export interface Damage {
  readonly admitted: number;
  /** What the last denial announced. */
  readonly retryAfter: number;
}

/** The client that it has, and so the store. */
export type Kind = 'ioredis' | 'iovalkey' | 'node-redis' | 'pg' | 'postgres';

export interface Hammer {
  strike(blow: Blow): Promise<Damage>;
  stop(): Promise<void>;
}

/** Starts a process over a client of this kind; `skew` is how far its clock is off, in milliseconds. */
export async function hammer(port: number, kind: Kind = 'ioredis', skew = 0): Promise<Hammer> {
  const child = fork(new URL('./hammer.mjs', import.meta.url), [String(port), kind, String(skew)]);
  // A message to one that has ended; whoever waits for its answer is told.
  child.on('error', () => {});
  const gone = once(child, 'exit');
  const answer = async (): Promise<unknown> => {
    const failed = gone.then(() => Promise.reject(new Error('the hammer ended by itself')));
    const [message] = (await Promise.race([once(child, 'message'), failed])) as unknown[];
    return message;
  };
  gone.catch(() => {});
  await answer();
  return {
    async strike(blow) {
      child.send(blow);
      return (await answer()) as Damage;
    },
    async stop() {
      child.kill();
      await gone;
    },
  };
}
