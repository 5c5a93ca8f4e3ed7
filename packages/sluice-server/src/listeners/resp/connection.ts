/**
 * One client connection. Replies are sent in the order of the commands, even if the store answers out of order. All replies
 * of one turn of the event loop are sent in one write. Memory is bounded: while a client does not read its replies,
 * or has too many commands in progress, nothing more is read from its socket.
 */
import type { Socket } from 'node:net';
import { HANDSHAKE_TIMEOUT } from '../listener.ts';
import { answerTo, refusal } from './answer.ts';
import { RespError, type Session } from './command.ts';
import { createLastRound } from './last-round.ts';
import { namedBy, UNKNOWN } from './named-command.ts';
import { type Bounds, ProtocolError, RespParser } from './parser.ts';
import { failure } from './reply.ts';
import { type Code, createReplyCounter } from './reply-counter.ts';
import type { Connection, Service } from './service.ts';
import { replyRecorder } from './trace.ts';

/** Maximum number of commands in progress. */
const MAX_WAITING = 1000;
/** Maximum size, in bytes, of the replies that wait for an earlier reply. */
const MAX_HELD = 1024 * 1024;
/** Once the pending replies have this size, in bytes, they are written before the turn of the event loop ends. */
const WRITE_AT = 64 * 1024;
/**
 * Milliseconds that the client has to read the last reply and close the connection. Resetting the connection would discard that
 * reply.
 */
const LINGER = 2000;
/** Bounds of commands from clients that have not authenticated. */
const UNAUTHENTICATED: Bounds = { maxArguments: 10, maxBytes: 4096 };
/**
 * First words of lines in HTTP requests that a web page can make a browser send to any port. The body of such a request could
 * contain commands.
 */
const HTTP_WORDS = new Set(['post', 'host:']);

interface Slot {
  reply: string | undefined;
}

export function serveClient(socket: Socket, id: number, client: string, service: Service): Connection {
  const { commands, bounds, requiresAuth, idleTimeout, requestTimeout } = service;
  const session: Session = {
    id,
    client,
    protocol: 2,
    name: '',
    isAuthenticated: !requiresAuth,
    grant: service.openGrant,
    failures: 0,
    isClosing: false,
  };
  const openedAt = performance.now();
  /** When input was last processed. */
  let readAt = openedAt;
  /** When the first byte of an incomplete command arrived. Infinity if no command is incomplete. */
  let begunAt = Infinity;
  const parser = new RespParser(requiresAuth ? UNAUTHENTICATED : bounds);
  /** Replies in the order of their commands, starting with the first reply that is not available yet. */
  const waiting: Slot[] = [];
  const replies = createReplyCounter(service);
  let known = UNKNOWN;
  /** Total size of the replies in `waiting`, in bytes. */
  let held = 0;
  /** Replies to write next. */
  let out = '';
  /** Whether the socket's buffer is full because the client does not read. */
  let isFull = false;
  let isEnded = false;
  let isFlushing = false;
  let isWriting = false;
  /** Number of times that input arrived. */
  let reads = 0;
  /** Whether the parser needs more input before it can return another command. */
  let isConsumed = false;
  let linger: NodeJS.Timeout | undefined;
  const lastRound = createLastRound({ reads: () => reads, run, write, stopReading });

  function isBlocked(): boolean {
    return isFull || waiting.length >= MAX_WAITING || held > MAX_HELD;
  }

  function flush(): void {
    if (out === '' || socket.destroyed) return;
    isFull = !socket.write(out, 'latin1');
    out = '';
  }

  /** Sends a reply after the replies to all earlier commands. */
  function sendReply(answer: string): void {
    if (waiting.length === 0) out += answer;
    else {
      waiting.push({ reply: answer });
      held += answer.length;
    }
  }

  function replyLater(
    answer: Promise<string>,
    name: string,
    start: number,
    record: ((reply: string) => void) | undefined,
  ): void {
    const slot: Slot = { reply: undefined };
    waiting.push(slot);
    const settled = (reply: string, code: Code): void => {
      slot.reply = reply;
      held += reply.length;
      record?.(reply);
      replies.report(name, code, 1, start);
      sendSettled();
    };
    answer.then(
      (reply) => settled(reply, 'ok'),
      (error: unknown) => settled(refusal(error, name, service, session), 'error'),
    );
  }

  /** Sends the settled replies up to the first pending one. Replies that settle in one turn of the event loop share a write. */
  function sendSettled(): void {
    while (waiting[0]?.reply !== undefined) {
      const { reply } = waiting.shift() as { reply: string };
      held -= reply.length;
      out += reply;
    }
    if (isFlushing) return;
    isFlushing = true;
    process.nextTick(() => {
      isFlushing = false;
      run();
    });
  }

  function perform(words: string[], start: number): void {
    const [word] = words;
    // Clients tend to repeat a command, and comparing it with the previous one is cheaper than a lookup.
    if (word !== known.word) known = namedBy(word, commands);
    const { command, label } = known;
    const record = replyRecorder(service, command, words, start, id);
    try {
      const answer = answerTo(command, words, session);
      if (typeof answer !== 'string') replyLater(answer, label, start, record);
      else {
        record?.(answer);
        sendReply(answer);
        replies.count(label, 'ok', start);
      }
    } catch (error) {
      if (error instanceof RespError && error.delay > 0) replyLater(rejectLater(error), label, start, record);
      else {
        const answer = refusal(error, label, service, session);
        record?.(answer);
        sendReply(answer);
        replies.count(label, 'error', start);
      }
    }
    if (command === undefined && HTTP_WORDS.has(word.toLowerCase())) session.isClosing = true;
    if (session.isAuthenticated && parser.bounds !== bounds) parser.bounds = bounds;
  }

  /** Runs the commands received so far, as long as the connection is not blocked. */
  function read(): void {
    const start = performance.now();
    readAt = start;
    try {
      while (!session.isClosing && !isBlocked()) {
        const words = parser.next();
        isConsumed = words === undefined;
        if (words === undefined) break;
        begunAt = Infinity;
        perform(words, start);
        if (out.length > WRITE_AT) flush();
      }
      begunAt = isConsumed && parser.isMidway ? Math.min(begunAt, start) : Infinity;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      sendReply(failure('ERR', `Protocol error: ${error.message}`));
      replies.count('protocol', 'error', start);
      session.isClosing = true;
    }
  }

  function write(): void {
    flush();
    replies.flush();
    const isStopped = isBlocked();
    if (!session.isClosing && !isEnded && isStopped !== socket.isPaused())
      socket[isStopped ? 'pause' : 'resume']();
    const isAnswered = isConsumed && !isStopped && waiting.length === 0;
    if ((session.isClosing && waiting.length === 0) || (isEnded && isAnswered)) leave();
    else lastRound.afterWrite(isAnswered, isStopped);
  }

  function writeLater(): void {
    isWriting = false;
    write();
  }

  function run(): void {
    read();
    write();
  }

  /** Stops reading for good. Commands that were read are still answered before the connection is closed. */
  function stopReading(): void {
    isEnded = true;
    if (!session.isClosing) socket.pause();
    run();
  }

  /** Closes the connection after the last reply. Further input is ignored. */
  function leave(): void {
    session.isClosing = true;
    if (socket.writableEnded || socket.destroyed) return;
    lastRound.cancel();
    socket.end();
    socket.resume();
    linger = setTimeout(() => socket.destroy(), LINGER).unref();
  }

  /** Sends the reason and closes the connection. A client that does not read the reason is disconnected after LINGER. */
  function closeWith(reason: string): void {
    sendReply(failure('ERR', reason));
    session.isClosing = true;
    write();
  }

  socket.on('drain', () => {
    isFull = false;
    run();
  });
  socket.on('end', () => {
    isEnded = true;
    run();
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    session.isClosing = true;
    lastRound.cancel();
    clearTimeout(linger);
  });

  return {
    receive(text) {
      if (session.isClosing) return;
      reads++;
      parser.push(text);
      isConsumed = false;
      read();
      if (isWriting) return;
      isWriting = true;
      service.afterReading(writeLater);
    },
    checkTimeouts(now) {
      if (session.isClosing || waiting.length > 0) return;
      if (!session.isAuthenticated && now - openedAt > HANDSHAKE_TIMEOUT) closeWith('authentication timeout');
      else if (now - begunAt > requestTimeout) closeWith('timeout: the command is incomplete');
      else if (idleTimeout > 0 && now - readAt > idleTimeout) closeWith('idle timeout');
    },
    drain: (grace, lastReads) => lastRound.begin(grace, lastReads),
  };
}

function rejectLater(error: RespError): Promise<string> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(error), error.delay);
  });
}
