/**
 * Parses commands from bytes. Input is decoded as 'latin1', one character per byte. This loses no information, and decodes a
 * chunk once instead of once per argument.
 */
import { detachedCopy } from '../../core/detached-copy.ts';

/** Thrown if the input is not RESP or exceeds the bounds. The client gets an error reply, and the connection is closed. */
export class ProtocolError extends Error {}

export interface Bounds {
  readonly maxArguments: number;
  /** Maximum total size of a command's arguments, in bytes. */
  readonly maxBytes: number;
}

/** Maximum length of an inline command, as typed by a person, in bytes. */
const MAX_INLINE = 16_384;
/**
 * Maximum length of a line that holds a number, in characters. The line consists of a type character, an optional sign and
 * digits.
 */
const MAX_LENGTH_LINE = 20;
/**
 * Number of concatenated pieces after which an incomplete input is flattened into one string, so that the pieces can be freed.
 */
const PIECES = 256;

const CR = 13;
const LF = 10;
const MINUS = 45;
const STAR = 42;
const DOLLAR = 36;

export class RespParser {
  /** Bounds of a command. They may change between commands, because clients that have not authenticated get smaller bounds. */
  bounds: Bounds;
  private text = '';
  private at = 0;
  private pieces = 0;
  /** Arguments of the current command. */
  private args: string[] = [];
  /** Number of `args` that are complete. The command is incomplete while this is smaller than `args.length`. */
  private received = 0;
  private bytes = 0;
  /** Length of the next argument, or -1 if the line with its length has not been read. */
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

  /** Whether a command has been received partially. */
  get isMidway(): boolean {
    return this.received < this.args.length || this.at < this.text.length;
  }

  /** The next command, or undefined if more input is needed. Throws a ProtocolError if the input is invalid. */
  next(): string[] | undefined {
    return this.received < this.args.length ? this.goOn() : this.begin();
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
      // An empty command has no reply.
      if (count <= 0) continue;
      if (count > this.bounds.maxArguments) throw new ProtocolError('invalid multibulk length');
      this.args = Array<string>(count);
      this.received = 0;
      this.bytes = 0;
      return this.goOn();
    }
    return undefined;
  }

  private goOn(): string[] | undefined {
    const { text, args } = this;
    const { maxBytes } = this.bounds;
    let { at, received, length, bytes } = this;
    for (; received < args.length; received++) {
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
        this.received = received;
        this.length = length;
        this.bytes = bytes;
        return undefined;
      }
      if (text.charCodeAt(end) !== CR || text.charCodeAt(end + 1) !== LF)
        throw new ProtocolError('an argument is longer than its declared length');
      args[received] = text.slice(at, end);
      at = end + 2;
      length = -1;
    }
    this.at = at;
    this.received = received;
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

/**
 * Offset of the end of the line that `numberAt` read last. It is a second result of `numberAt`, kept here to avoid an allocation.
 */
let lineEnd = 0;
/** Result of `numberAt` for an incomplete line. Differs from every number that a client can send. */
const PARTIAL = -2;

/** The length of an argument, or PARTIAL. */
function lengthAt(text: string, at: number): number {
  if (text.charCodeAt(at) === DOLLAR) return numberAt(text, at, 'bulk length');
  const character = text[at];
  throw new ProtocolError(`expected '$', got '${character > ' ' && character <= '~' ? character : '?'}'`);
}

/** The number after the first character of a line, or PARTIAL. Negative numbers are returned as -1. */
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
/** Matches a word. Blanks are listed explicitly, because `\s` also matches bytes that are parts of UTF-8 characters. */
const WORD = /(?:"((?:[^"\\]|\\[\s\S])*)"|'((?:[^'\\]|\\[\s\S])*)'|([^ \t\r\v\f"']+))(?:[ \t\r\v\f]+|$)/y;

/** Splits an inline command into words and quoted strings, which may contain escapes. */
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
  return text.replace(/\\(?:x([\da-fA-F]{2})|([\s\S]))/g, (_, hex: string | undefined, character: string) =>
    hex === undefined ? (ESCAPES[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
