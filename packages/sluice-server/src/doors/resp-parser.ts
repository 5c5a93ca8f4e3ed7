/**
 * From bytes to commands. Bytes are read as text of one character each ('latin1'): nothing is lost, and a chunk is
 * decoded once instead of once per argument.
 */
import { own } from '../core/own.ts';

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
  /** No progress before so many more bytes are there. */
  private wanted = 1;
  /** Arguments that the command under way has; 0: none is under way. */
  private expected = 0;
  private args: string[] = [];
  private bytes = 0;
  /** Length of the argument that comes next; -1: not known yet. */
  private length = -1;

  constructor(bounds: Bounds) {
    this.bounds = bounds;
  }

  push(chunk: string): void {
    if (this.at === this.text.length) this.text = chunk;
    else {
      const rest = this.at === 0 ? this.text : own(this.text.slice(this.at));
      this.text = rest + chunk;
      if (++this.pieces % PIECES === 0) this.text.charCodeAt(0);
    }
    this.at = 0;
  }

  /** Part of a command has come. */
  get isMidway(): boolean {
    return this.expected > 0 || this.at < this.text.length;
  }

  /** The next command, or undefined until more comes. Throws a ProtocolError. */
  next(): string[] | undefined {
    const left = this.text.length - this.at;
    if (left < this.wanted) return undefined;
    const command = this.expected === 0 ? this.begin() : this.goOn();
    if (command !== undefined) {
      this.wanted = 1;
      this.expected = 0;
      this.bytes = 0;
    }
    return command;
  }

  private begin(): string[] | undefined {
    while (this.at < this.text.length) {
      if (this.text.charCodeAt(this.at) !== STAR) {
        const words = this.inline();
        if (words === undefined || words.length > 0) return words;
        continue;
      }
      const count = this.number('multibulk length');
      if (count === undefined) return undefined;
      // Nothing asked, nothing answered.
      if (count <= 0) continue;
      if (count > this.bounds.maxArguments) throw new ProtocolError('invalid multibulk length');
      this.expected = count;
      this.args = [];
      return this.goOn();
    }
    return undefined;
  }

  private goOn(): string[] | undefined {
    const { text, args } = this;
    while (args.length < this.expected) {
      if (this.length < 0 && !this.readLength()) return undefined;
      const end = this.at + this.length;
      if (text.length < end + 2) {
        this.wanted = end + 2 - this.at;
        return undefined;
      }
      if (text.charCodeAt(end) !== CR || text.charCodeAt(end + 1) !== LF)
        throw new ProtocolError('an argument is longer than its length');
      args.push(text.slice(this.at, end));
      this.at = end + 2;
      this.length = -1;
    }
    return args;
  }

  private readLength(): boolean {
    this.wanted = 1;
    if (this.at >= this.text.length) return false;
    if (this.text.charCodeAt(this.at) !== DOLLAR)
      throw new ProtocolError(`expected '$', got '${this.sign()}'`);
    const length = this.number('bulk length');
    if (length === undefined) return false;
    this.bytes += length;
    if (length < 0 || this.bytes > this.bounds.maxBytes) throw new ProtocolError('invalid bulk length');
    this.length = length;
    return true;
  }

  /** The number after the first sign of a line; undefined until the line is whole. */
  private number(what: string): number | undefined {
    const { text } = this;
    let at = this.at + 1;
    const isNegative = text.charCodeAt(at) === MINUS;
    if (isNegative) at++;
    const from = at;
    let value = 0;
    for (; at < text.length; at++) {
      const digit = text.charCodeAt(at) - 48;
      if (digit >= 0 && digit <= 9) value = value * 10 + digit;
      else break;
    }
    if (at - this.at > MAX_LENGTH_LINE) throw new ProtocolError(`invalid ${what}`);
    if (at >= text.length) return this.wait();
    if (at === from || text.charCodeAt(at) !== CR) throw new ProtocolError(`invalid ${what}`);
    if (at + 1 >= text.length) return this.wait();
    if (text.charCodeAt(at + 1) !== LF) throw new ProtocolError(`invalid ${what}`);
    this.at = at + 2;
    return isNegative ? -value : value;
  }

  private wait(): undefined {
    this.wanted = this.text.length - this.at + 1;
  }

  private inline(): string[] | undefined {
    const end = this.text.indexOf('\n', this.at);
    const size = (end < 0 ? this.text.length : end) - this.at;
    if (size > Math.min(MAX_INLINE, this.bounds.maxBytes)) throw new ProtocolError('too big inline request');
    if (end < 0) return this.wait();
    const words = wordsOf(this.text.slice(this.at, end));
    if (words.length > this.bounds.maxArguments) throw new ProtocolError('too many words');
    this.at = end + 1;
    return words;
  }

  private sign(): string {
    const sign = this.text[this.at] ?? '';
    return sign > ' ' && sign <= '~' ? sign : '?';
  }
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
