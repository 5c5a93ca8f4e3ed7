/** What a command is, and what it may know of who sent it. */
import type { MaybePromise } from 'sluice';
import type { Protocol } from './resp-reply.ts';

export interface Session {
  readonly id: number;
  protocol: Protocol;
  /** As the client calls itself. */
  name: string;
  /** A password was said, or none is needed. */
  isTrusted: boolean;
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

/** An error reply: its code, and what it says. */
export class RespError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
