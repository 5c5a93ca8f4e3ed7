/** Types of a command, and of the session of the client that sends it. */
import type { MaybePromise, Millis } from 'sluice';
import type { Protocol } from './reply.ts';

export interface Session {
  readonly id: number;
  protocol: Protocol;
  /** Name that the client has set. */
  name: string;
  /** The client's address, or its IPv6 prefix. */
  readonly client: string;
  /** A correct password was sent, or none is needed. */
  isAuthenticated: boolean;
  /** Wrong passwords sent over this connection. */
  failures: number;
  /** The connection ends after this reply. */
  isClosing: boolean;
}

export interface Command {
  readonly summary: string;
  /** Arguments, for COMMAND DOCS. */
  readonly usage: string;
  /** Minimum and maximum number of arguments, without the name. */
  readonly arity: readonly [fewest: number, most: number];
  /** The first argument is a key. */
  readonly hasKey?: boolean;
  /** Clients may run it before they authenticate. */
  readonly needsNoAuth?: boolean;
  /** The first word is the name of the command. Errors become error replies. */
  run(words: readonly string[], session: Session): MaybePromise<string>;
}

export type Commands = ReadonlyMap<string, Command>;

/** Thrown to send an error reply. With `delay`, it and all later replies are sent that many milliseconds later. */
export class RespError extends Error {
  readonly code: string;
  readonly delay: Millis;

  constructor(code: string, message: string, delay: Millis = 0) {
    super(message);
    this.code = code;
    this.delay = delay;
  }
}
