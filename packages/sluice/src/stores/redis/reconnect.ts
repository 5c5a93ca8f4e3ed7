/**
 * The store's own connection, which is replaced by a new one when it has ended or no longer answers. A TCP connection whose other
 * side is gone may never be closed. The only sign is that a call is not answered. Redis answers in order, so a call without an
 * answer means that nothing after it was answered on that connection either.
 *
 * A connection that is replaced is kept for a while, because a server that was only slow still answers on it, and a
 * charge that is reported late can be undone.
 */
import { systemClock } from '../../internal/clock.ts';
import type { Millis } from '../../engine/contract.ts';
import type { Connection } from './connections.ts';
import type { Link, Source } from './duplicates.ts';

/** How long a call may stay unanswered before the next call is sent on a new connection. */
const PATIENCE: Millis = 1000;
/**
 * The maximum time that a call may stay unanswered. The time starts at PATIENCE and doubles with each replacement, because a new
 * connection does not help if the server itself hangs.
 */
const MOST_PATIENCE: Millis = 8000;
/** A connection that lasted this long has worked, so calls on the next connection may again stay unanswered only for PATIENCE. */
const LASTED: Millis = 30_000;
/** How long a replaced connection is kept for answers that may still arrive. */
const LINGER: Millis = 30_000;
/** After a failed attempt to connect, calls fail with the same error for this long before the next attempt. */
const PAUSE: Millis = 50;
/** How often to check whether the owner has closed the client. */
const WATCH: Millis = 500;

/** Errors after which another server may have taken over the address, or the cluster's client may have outdated information. */
const SUSPICIOUS = /READONLY|MASTERDOWN|connect|closed|ECONN|EPIPE|EHOST|ENETUNREACH|socket|timed? ?out/i;

interface Line {
  readonly link: Link;
  readonly openedAt: Millis;
  /** When each unanswered call was made, oldest first. */
  readonly calls: Set<{ readonly at: Millis }>;
  /** The connection. Undefined until it is established. */
  connection: Connection | undefined;
  suspect: boolean;
  /** The timer that closes the connection permanently after it has been replaced. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

export function renewed(source: Source): Connection & { close(): void } {
  let current: Line | undefined;
  /**
   * The next connection of a cluster, which takes over once it is connected. The current connection is used until then, because a
   * node that hangs may delay the next connection while the other nodes still answer.
   */
  let successor: Line | undefined;
  let patience = PATIENCE;
  let watch: ReturnType<typeof setInterval> | undefined;
  const replaced = new Set<Line>();

  function open(now: Millis): Line {
    const line: Line = {
      link: source.open(),
      openedAt: now,
      calls: new Set(),
      connection: undefined,
      suspect: false,
      timer: undefined,
    };
    line.link.ready.then(
      (connection) => {
        line.connection = connection;
      },
      () => {},
    );
    // The store checks regularly whether the client was closed, because not every client reports that, and an open connection of
    // the store could keep the process alive.
    watch ??= unref(setInterval(closeWithClient, WATCH));
    return line;
  }

  function usable(): Line {
    const now = systemClock.now();
    if (source.isClosed()) {
      close();
      throw new Error('The client is closed');
    }
    if (current === undefined || isSpent(current, now)) {
      current = successor ?? open(now);
      successor = undefined;
    }
    return current;
  }

  /** Whether a cluster's next connection is ready. If this connection failed or takes too long, it is replaced by another one. */
  function isSucceeded(now: Millis): boolean {
    if (successor !== undefined && (successor.link.isEnded() || now - successor.openedAt > MOST_PATIENCE)) {
      if (now - successor.openedAt < PATIENCE) return false;
      discard(successor);
      successor = undefined;
    }
    successor ??= open(now);
    return successor.connection !== undefined;
  }

  /** Whether a connection has ended or must be replaced. If so, it is closed, immediately or once its answers have arrived. */
  function isSpent(line: Line, now: Millis): boolean {
    const { link, openedAt } = line;
    if (link.isEnded()) {
      if (now - openedAt < PAUSE) throw link.error ?? new Error('Connection is closed.');
      link.close();
      return true;
    }
    if (!isOverdue(line, now) || (source.cluster && !isSucceeded(now))) return false;
    patience = now - openedAt > LASTED ? PATIENCE : Math.min(2 * patience, MOST_PATIENCE);
    replace(line);
    return true;
  }

  function isOverdue({ openedAt, suspect, calls }: Line, now: Millis): boolean {
    if (now - openedAt < patience) return false;
    const [oldest] = calls;
    return suspect || (oldest !== undefined && now - oldest.at > patience);
  }

  function replace(line: Line): void {
    replaced.add(line);
    line.timer = unref(setTimeout(() => discard(line), LINGER));
    if (line.calls.size === 0) discard(line);
  }

  function discard(line: Line): void {
    clearTimeout(line.timer);
    replaced.delete(line);
    line.link.close();
  }

  function closeWithClient(): void {
    if (source.isClosed()) close();
  }

  function close(): void {
    clearInterval(watch);
    watch = undefined;
    for (const line of [...replaced, current, successor]) if (line !== undefined) discard(line);
    current = successor = undefined;
  }

  return {
    client: source.client,
    cluster: source.cluster,
    binary: source.binary,
    ...(source.cluster && { nodeOf: (key) => current?.connection?.nodeOf?.(key) }),
    async evaluate(command, script, keys, args) {
      const line = usable();
      const call = { at: systemClock.now() };
      line.calls.add(call);
      try {
        const connection = line.connection ?? (await line.link.ready);
        return await connection.evaluate(command, script, keys, args);
      } catch (error) {
        line.suspect ||= SUSPICIOUS.test(String(error));
        throw error;
      } finally {
        line.calls.delete(call);
        if (line.calls.size === 0 && replaced.has(line)) discard(line);
      }
    },
    close,
  };
}

/** Prevents a timer from keeping the process alive. On runtimes other than Node, timers may be numbers. */
function unref<T>(timer: T): T {
  (timer as { unref?(): void }).unref?.();
  return timer;
}
