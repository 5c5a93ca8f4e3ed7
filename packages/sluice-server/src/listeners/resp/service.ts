/** Types of a connection, and of what all connections of a RESP listener share. */
import type { Millis } from 'sluice';
import type { Core } from '../../core/core.ts';
import type { Grant } from '../grants.ts';
import type { Log } from '../../log.ts';
import type { RequestLog } from '../request-log.ts';
import type { Tracer } from '../../telemetry/traces/tracer.ts';
import type { Commands } from './command.ts';
import type { Bounds } from './parser.ts';

export interface Service {
  readonly core: Core;
  readonly log: Log;
  readonly requestLog?: RequestLog | undefined;
  readonly commands: Commands;
  readonly bounds: Bounds;
  /** Whether clients must authenticate first. */
  readonly requiresAuth: boolean;
  /** What a client may do without a token. Used only if `requiresAuth` is false. */
  readonly openGrant: Grant;
  /** A connection is closed if its client sends nothing for this long. 0 means never. */
  readonly idleTimeout: Millis;
  /** A connection is closed if a command stays incomplete for this long. */
  readonly requestTimeout: Millis;
  readonly tracer?: Tracer | undefined;
  /** Called with the number of replies that were sent. */
  answered(times: number): void;
  /** Runs `work` after the input of all connections in this turn of the event loop has been read. */
  afterReading(work: () => void): void;
}

export interface Connection {
  /** Processes input, as text with one character per byte. */
  receive(text: string): void;
  /** Closes the connection if its client has been inactive for too long. `now` is monotonic time. */
  checkTimeouts(now: Millis): void;
  /**
   * Serves the client for another `grace` ms. Then answers everything that has arrived, stops reading and closes the connection.
   * If the client keeps sending, the connection stops reading after twice the grace period or, if the server cannot keep up with
   * the client, another `lastReads` ms later.
   */
  drain(grace: Millis, lastReads: Millis): void;
}
