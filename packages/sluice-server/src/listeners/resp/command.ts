/** What a command is, and what it may know of who sent it. */
import type { MaybePromise, Millis } from 'sluice';
import type { Protocol } from './reply.ts';

export interface Session {
  readonly id: number;
  protocol: Protocol;
  /** As the client calls itself. */
  name: string;
  /** The client's address, or its IPv6 prefix. */
  readonly client: string;
  /** A correct password was sent, or none is needed. */
  isTrusted: boolean;
  /** Wrong passwords sent over this connection. */
  failures: number;
  /** The connection ends after this reply. */
  isLeaving: boolean;
}

export interface Command {
  readonly summary: string;
  /** What stands after the name, for people. */
  readonly usage: string;
  /** Arguments after the name: the fewest and the most. */
  readonly arity: readonly [fewest: number, most: number];
  /** The first argument is a key. */
  readonly hasKey?: boolean;
  /** Also for clients that have not said the password yet. */
  readonly isOpen?: boolean;
  /** The first word is the command's name. What it throws becomes an error reply. */
  run(words: readonly string[], session: Session): MaybePromise<string>;
}

export type Commands = ReadonlyMap<string, Command>;

/** An error reply. With `delay`, it is sent that many milliseconds later, and so are all replies after it. */
export class RespError extends Error {
  readonly code: string;
  readonly delay: Millis;

  constructor(code: string, message: string, delay: Millis = 0) {
    super(message);
    this.code = code;
    this.delay = delay;
  }
}
