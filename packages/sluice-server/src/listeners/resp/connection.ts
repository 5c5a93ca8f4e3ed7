/**
 * One client. Commands are answered in the order in which they came, also when a store answers later; answers of one
 * turn of the loop leave in one write. Nothing grows without bound: who does not read its answers, or has too many of
 * them under way, is not read from.
 */
import type { Socket } from 'node:net';
import type { Millis } from 'sluice';
import type { Core } from '../../core/core.ts';
import { detachedCopy } from '../../core/detached-copy.ts';
import { HANDSHAKE_TIMEOUT } from '../listener.ts';
import type { Log } from '../../log.ts';
import type { Tracer } from '../../telemetry/traces/tracer.ts';
import { answerTo, refusal } from './answer.ts';
import { type Command, type Commands, RespError, type Session } from './command.ts';
import { type Bounds, ProtocolError, RespParser } from './parser.ts';
import { failure } from './reply.ts';
import { spanRecorder } from './trace.ts';

export interface Service {
  readonly core: Core;
  readonly log: Log;
  readonly commands: Commands;
  readonly bounds: Bounds;
  /** Clients must authenticate first. */
  readonly isClosed: boolean;
  /** A connection that sends nothing for this long is closed; 0: never. */
  readonly idleTimeout: Millis;
  /** A connection whose command is incomplete for this long is closed. */
  readonly requestTimeout: Millis;
  readonly tracer?: Tracer | undefined;
  /** Counts. */
  answered(times: number): void;
  /** Runs it once all that has come in this turn of the loop, from whomever, is read. */
  afterReading(work: () => void): void;
}

export interface Connection {
  /** What came, a character for each byte. */
  hear(text: string): void;
  /** Closes the connection if its client has been silent for too long. `now`: monotonic. */
  look(now: Millis): void;
  /** Ends it after the answers to what has come, or after a moment if nothing comes. */
  drain(moment: number): void;
}

/** Answers under way at once. */
const MAX_WAITING = 1000;
/** Bytes of answers that wait for one before them. */
const MAX_HELD = 1024 * 1024;
/** Bytes of answers in one write. */
const WRITE_AT = 64 * 1024;
/** After our last word, the client has so long to read it, and to hang up; a reset would take it away. */
const LINGER = 2000;
/** For those who have not said the password. */
const STRANGER: Bounds = { maxArguments: 10, maxBytes: 4096 };
/** Web pages can make browsers say these to any port; what follows may read like commands. */
const BROWSERS = new Set(['post', 'host:']);

type Code = 'ok' | 'error';

interface Slot {
  reply: string | undefined;
}

/** What a client's word stands for, and what metrics call it. */
interface Named {
  readonly word: string;
  readonly command: Command | undefined;
  readonly label: string;
}

const UNKNOWN: Named = { word: '', command: undefined, label: 'unknown' };

export function serveClient(socket: Socket, id: number, client: string, service: Service): Connection {
  const { core, log, commands, bounds, isClosed, tracer, idleTimeout, requestTimeout } = service;
  const session: Session = {
    id,
    client,
    protocol: 2,
    name: '',
    isTrusted: !isClosed,
    failures: 0,
    isLeaving: false,
  };
  const openedAt = performance.now();
  /** When something was last read. */
  let readAt = openedAt;
  /** When the command that is still incomplete began; Infinity: none is. */
  let begunAt = Infinity;
  const parser = new RespParser(isClosed ? STRANGER : bounds);
  const waiting: Slot[] = [];
  const batch = { name: '', code: 'ok' as Code, times: 0, start: 0 };
  let known = UNKNOWN;
  let held = 0;
  let out = '';
  let isFull = false;
  let isEnded = false;
  let isFlushing = false;
  let isWriting = false;
  let isDraining = false;
  let isLate = false;
  let isDry = false;
  let hasAnswered = false;
  let idle: NodeJS.Timeout | undefined;

  function isBlocked(): boolean {
    return isFull || waiting.length >= MAX_WAITING || held > MAX_HELD;
  }

  function flush(): void {
    if (out === '' || socket.destroyed) return;
    isFull = !socket.write(out, 'latin1');
    out = '';
  }

  /** Not before those that came earlier. */
  function say(answer: string): void {
    if (waiting.length === 0) out += answer;
    else {
      waiting.push({ reply: answer });
      held += answer.length;
    }
  }

  function sayLater(
    answer: Promise<string>,
    name: string,
    start: number,
    tell: ((reply: string) => void) | undefined,
  ): void {
    const slot: Slot = { reply: undefined };
    waiting.push(slot);
    const settled = (reply: string, code: Code): void => {
      slot.reply = reply;
      held += reply.length;
      tell?.(reply);
      report(name, code, 1, start);
      settle();
    };
    answer.then(
      (reply) => settled(reply, 'ok'),
      (error: unknown) => settled(refusal(error, name, log), 'error'),
    );
  }

  /** What is ready, up to the first that is not. All that becomes ready in one turn of the loop leaves together. */
  function settle(): void {
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

  function report(name: string, code: Code, times: number, start: number): void {
    service.answered(times);
    core.metrics.answered('resp', name, code, performance.now() - start, times);
  }

  /** Answers of a kind that leave together are reported together. */
  function count(name: string, code: Code, start: number): void {
    if (name !== batch.name || code !== batch.code) reportBatch();
    if (batch.times === 0) {
      batch.name = name;
      batch.code = code;
      batch.start = start;
    }
    batch.times++;
  }

  function reportBatch(): void {
    if (batch.times > 0) report(batch.name, batch.code, batch.times, batch.start);
    batch.times = 0;
  }

  function perform(words: string[], start: number): void {
    const [word] = words;
    // Clients say the same again and again: to compare is cheaper than to look up.
    if (word !== known.word) known = namedBy(word, commands);
    const { command, label } = known;
    const tell = tracer && spanRecorder(tracer, command, words, start);
    try {
      const answer = answerTo(command, words, session);
      if (typeof answer !== 'string') sayLater(answer, label, start, tell);
      else {
        tell?.(answer);
        say(answer);
        count(label, 'ok', start);
      }
    } catch (error) {
      if (error instanceof RespError && error.delay > 0) sayLater(rejectLater(error), label, start, tell);
      else {
        const answer = refusal(error, label, log);
        tell?.(answer);
        say(answer);
        count(label, 'error', start);
      }
    }
    if (command === undefined && BROWSERS.has(word.toLowerCase())) session.isLeaving = true;
    if (session.isTrusted && parser.bounds !== bounds) parser.bounds = bounds;
  }

  /** Where reading is allowed. */
  function read(): void {
    const start = performance.now();
    readAt = start;
    try {
      while (!session.isLeaving && !isBlocked()) {
        const words = parser.next();
        isDry = words === undefined;
        if (words === undefined) break;
        begunAt = Infinity;
        hasAnswered = true;
        perform(words, start);
        if (out.length > WRITE_AT) flush();
      }
      begunAt = isDry && parser.isMidway ? Math.min(begunAt, start) : Infinity;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      say(failure('ERR', `Protocol error: ${error.message}`));
      count('protocol', 'error', start);
      session.isLeaving = true;
    }
  }

  function write(): void {
    flush();
    reportBatch();
    // While draining: one more answer, and the client knows.
    if (isDraining && isDry && (isLate || (hasAnswered && !parser.isMidway))) session.isLeaving = true;
    hasAnswered = false;
    const isStopped = isBlocked();
    if (!session.isLeaving && isStopped !== socket.isPaused()) socket[isStopped ? 'pause' : 'resume']();
    if ((session.isLeaving || (isEnded && isDry && !isStopped)) && waiting.length === 0) leave();
  }

  function writeLater(): void {
    isWriting = false;
    write();
  }

  function run(): void {
    read();
    write();
  }

  /** Sockets have been looked at since the timer: where the process was held up, words wait there unread. */
  function late(): void {
    isLate = true;
    run();
  }

  /** The last word is said. What still comes is not read as commands. */
  function leave(): void {
    session.isLeaving = true;
    if (socket.writableEnded || socket.destroyed) return;
    clearTimeout(idle);
    socket.end();
    socket.resume();
    idle = setTimeout(() => socket.destroy(), LINGER).unref();
  }

  /** Says why, and closes; a client that does not even read is cut off. */
  function dismiss(reason: string): void {
    say(failure('ERR', reason));
    session.isLeaving = true;
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
    session.isLeaving = true;
    clearTimeout(idle);
  });

  return {
    hear(text) {
      if (session.isLeaving) return;
      parser.push(text);
      isDry = false;
      read();
      if (isWriting) return;
      isWriting = true;
      service.afterReading(writeLater);
    },
    look(now) {
      if (session.isLeaving || waiting.length > 0) return;
      if (!session.isTrusted && now - openedAt > HANDSHAKE_TIMEOUT) dismiss('authentication timeout');
      else if (now - begunAt > requestTimeout) dismiss('timeout: the command is incomplete');
      else if (idleTimeout > 0 && now - readAt > idleTimeout) dismiss('idle timeout');
    },
    drain(moment) {
      isDraining = true;
      idle ??= setTimeout(() => setImmediate(late), moment);
    },
  };
}

function rejectLater(error: RespError): Promise<string> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(error), error.delay);
  });
}

function namedBy(word: string, commands: Commands): Named {
  const name = word.toLowerCase();
  const command = commands.get(name);
  return command === undefined ? UNKNOWN : { word: detachedCopy(word), command, label: detachedCopy(name) };
}
