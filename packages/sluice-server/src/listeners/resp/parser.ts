/**
 * From bytes to commands. Bytes are read as text of one character each ('latin1'): nothing is lost, and a chunk is
 * decoded once instead of once per argument.
 */
import { detachedCopy } from '../../core/detached-copy.ts';

/** The client does not speak RESP, or too much of it. It is told so, and the connection ends. */
export class ProtocolError extends Error {}

export interface Bounds {
  readonly maxArguments: number;
  /** Bytes of all arguments of a command. */
  readonly maxBytes: number;
}

/** Bytes of a command without lengths, as a person types it. */
const MAX_INLINE = 16_384;
/** Digits, and a sign. */
const MAX_LENGTH_LINE = 20;
/** Text that grows by many small pieces is put together now and then, so that the pieces are freed. */
const PIECES = 256;

const CR = 13;
const LF = 10;
const MINUS = 45;
const STAR = 42;
const DOLLAR = 36;

export class RespParser {
  /** May change between commands: who has not said a password gets little. */
  bounds: Bounds;
  private text = '';
  private at = 0;
  private pieces = 0;
  /** Of the command under way; none is once all of them are there. */
  private args: string[] = [];
  private there = 0;
  private bytes = 0;
  /** Length of the argument that comes next; -1: not known yet. */
  private length = -1;

  constructor(bounds: Bounds) {
    this.bounds = bounds;
  }

  push(chunk: string): void {
    if (this.at === this.text.length) this.text = chunk;
    else {
      const rest = this.at === 0 ? this.text : detachedCopy(this.text.slice(this.at));
      this.text = rest + chunk;
      if (++this.pieces % PIECES === 0) this.text.charCodeAt(0);
    }
    this.at = 0;
  }

  /** Part of a command has come. */
  get isMidway(): boolean {
    return this.there < this.args.length || this.at < this.text.length;
  }

  /** The next command, or undefined until more comes. Throws a ProtocolError. */
  next(): string[] | undefined {
    return this.there < this.args.length ? this.goOn() : this.begin();
  }

  private begin(): string[] | undefined {
    const { text } = this;
    while (this.at < text.length) {
      if (text.charCodeAt(this.at) !== STAR) {
        const words = this.inline();
        if (words === undefined || words.length > 0) return words;
        continue;
      }
      const count = numberAt(text, this.at, 'multibulk length');
      if (count === PARTIAL) return undefined;
      this.at = lineEnd;
      // Nothing asked, nothing answered.
      if (count <= 0) continue;
      if (count > this.bounds.maxArguments) throw new ProtocolError('invalid multibulk length');
      this.args = Array<string>(count);
      this.there = 0;
      this.bytes = 0;
      return this.goOn();
    }
    return undefined;
  }

  private goOn(): string[] | undefined {
    const { text, args } = this;
    const { maxBytes } = this.bounds;
    let { at, there, length, bytes } = this;
    for (; there < args.length; there++) {
      if (length < 0) {
        const found = at < text.length ? lengthAt(text, at) : PARTIAL;
        if (found !== PARTIAL) {
          at = lineEnd;
          bytes += found;
          if (found < 0 || bytes > maxBytes) throw new ProtocolError('invalid bulk length');
          length = found;
        }
      }
      const end = at + length;
      if (length < 0 || text.length < end + 2) {
        this.at = at;
        this.there = there;
        this.length = length;
        this.bytes = bytes;
        return undefined;
      }
      if (text.charCodeAt(end) !== CR || text.charCodeAt(end + 1) !== LF)
        throw new ProtocolError('an argument is longer than its length');
      args[there] = text.slice(at, end);
      at = end + 2;
      length = -1;
    }
    this.at = at;
    this.there = there;
    this.length = -1;
    return args;
  }

  private inline(): string[] | undefined {
    const end = this.text.indexOf('\n', this.at);
    const size = (end < 0 ? this.text.length : end) - this.at;
    if (size > Math.min(MAX_INLINE, this.bounds.maxBytes)) throw new ProtocolError('too big inline request');
    if (end < 0) return undefined;
    const words = wordsOf(this.text.slice(this.at, end));
    if (words.length > this.bounds.maxArguments) throw new ProtocolError('too many words');
    this.at = end + 1;
    return words;
  }
}

/** Where the line ends that was last read. */
let lineEnd = 0;
/** The line has not come to its end. No number that a client can say. */
const PARTIAL = -2;

/** Of an argument, or PARTIAL. */
function lengthAt(text: string, at: number): number {
  if (text.charCodeAt(at) === DOLLAR) return numberAt(text, at, 'bulk length');
  const sign = text[at];
  throw new ProtocolError(`expected '$', got '${sign > ' ' && sign <= '~' ? sign : '?'}'`);
}

/** The number after the first sign of a line, or PARTIAL. Of those below 0, all are -1. */
function numberAt(text: string, start: number, what: string): number {
  let at = start + 1;
  const isNegative = text.charCodeAt(at) === MINUS;
  if (isNegative) at++;
  const from = at;
  let value = 0;
  let code = 0;
  for (; at < text.length; at++) {
    code = text.charCodeAt(at);
    if (code < 48 || code > 57) break;
    value = value * 10 + code - 48;
  }
  if (at - start > MAX_LENGTH_LINE) throw new ProtocolError(`invalid ${what}`);
  if (at >= text.length) return PARTIAL;
  if (at === from || code !== CR) throw new ProtocolError(`invalid ${what}`);
  if (at + 1 >= text.length) return PARTIAL;
  if (text.charCodeAt(at + 1) !== LF) throw new ProtocolError(`invalid ${what}`);
  lineEnd = at + 2;
  return isNegative ? -1 : value;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', a: '\x07' };
/** No `\s`: it knows signs that are parts of other letters in UTF-8. */
const WORD = /(?:"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'|([^ \t\r\v\f"']+))(?:[ \t\r\v\f]+|$)/y;

/** As typed: words, or quoted text with escapes in it. */
function wordsOf(line: string): string[] {
  const words: string[] = [];
  const text = line.replace(/^[ \t\r\v\f]+/, '');
  WORD.lastIndex = 0;
  while (WORD.lastIndex < text.length) {
    const found = WORD.exec(text);
    if (found === null) throw new ProtocolError('unbalanced quotes in request');
    const [, double, single, plain] = found;
    words.push(plain ?? single?.replaceAll("\\'", "'") ?? unescaped(double ?? ''));
  }
  return words;
}

function unescaped(text: string): string {
  return text.replace(/\\(?:x([\da-fA-F]{2})|([\s\S]))/g, (_, hex: string | undefined, sign: string) =>
    hex === undefined ? (ESCAPES[sign] ?? sign) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
