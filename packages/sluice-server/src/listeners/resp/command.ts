/** Types of a command, and of the session of the client that sends it. */
import type { MaybePromise, Millis } from 'sluice';
import type { Grant, TokenVerb } from '../grants.ts';
import type { Protocol } from './reply.ts';

export interface Session {
  readonly id: number;
  protocol: Protocol;
  /** Name that the client has given to the connection. */
  name: string;
  /** The client's address, or its IPv6 prefix. */
  readonly client: string;
  /** Whether the client has sent a correct password, or no password is required. */
  isAuthenticated: boolean;
  /** What the client may do. */
  grant: Grant;
  /** Number of wrong passwords sent over this connection. */
  failures: number;
  /** Whether to close the connection after this reply. */
  isClosing: boolean;
}

export interface Command {
  readonly summary: string;
  /** Description of the arguments, for COMMAND DOCS. */
  readonly usage: string;
  /** Minimum and maximum number of arguments, without the name. */
  readonly arity: readonly [fewest: number, most: number];
  /** Whether the first argument is a key. */
  readonly hasKey?: boolean;
  /** The verb that a client needs to run the command. Undefined if it needs none. */
  readonly verb?: TokenVerb;
  /** Whether clients may run the command before they authenticate. */
  readonly needsNoAuth?: boolean;
  /** Runs the command and returns its encoded reply. The first word is the name of the command. Errors become error replies. */
  run(words: readonly string[], session: Session): MaybePromise<string>;
}

export type Commands = ReadonlyMap<string, Command>;

/** Thrown to send an error reply. `delay` postpones this reply and all later ones by that many milliseconds. */
export class RespError extends Error {
  readonly code: string;
  readonly delay: Millis;

  constructor(code: string, message: string, delay: Millis = 0) {
    super(message);
    this.code = code;
    this.delay = delay;
  }
}
