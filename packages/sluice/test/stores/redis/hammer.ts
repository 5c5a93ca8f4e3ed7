/** Processes that send many checks to one server concurrently. */
import { fork } from 'node:child_process';
import { once } from 'node:events';

export interface Blow {
  readonly policies: 'gcra' | 'slidingLog' | 'fixedWindow' | 'slidingWindow' | 'two policies';
  readonly limit: number;
  readonly name: string;
  readonly inherit?: 'as-is' | 'proportional' | 'additive' | 'reset' | undefined;
  readonly key: string;
  /** Number of keys, each starting with `key`, that are checked in turn; if undefined, only `key` itself. */
  readonly keys?: number | undefined;
  /** `lanes` is the number of concurrent checks, `checks` the total number of checks. */
  readonly lanes: number;
  readonly checks: number;
}

export interface Damage {
  readonly admitted: number;
  /** `retryAfter` of the last denial. */
  readonly retryAfter: number;
}

/** The client that the process uses, which also determines the store. */
export type Kind = 'ioredis' | 'iovalkey' | 'node-redis' | 'pg' | 'postgres';

export interface Hammer {
  strike(blow: Blow): Promise<Damage>;
  stop(): Promise<void>;
}

/** Starts a process with this kind of client. `skew` is the offset of its clock in milliseconds. */
export async function hammer(port: number, kind: Kind = 'ioredis', skew = 0): Promise<Hammer> {
  const child = fork(new URL('./hammer.mjs', import.meta.url), [String(port), kind, String(skew)]);
  // Ignores messages to a process that has ended; a pending answer rejects.
  child.on('error', () => {});
  const gone = once(child, 'exit');
  const answer = async (): Promise<unknown> => {
    const failed = gone.then(() => Promise.reject(new Error('the hammer process exited unexpectedly')));
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
