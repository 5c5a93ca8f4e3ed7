/** Tests the RESP parser without a socket: what it accepts, what it rejects, and its bounds. */
import { describe, expect, test } from 'vitest';
import { type Bounds, ProtocolError, RespParser } from '../../../src/listeners/resp/parser.ts';
import { command } from '../listeners.ts';

const BOUNDS: Bounds = { maxArguments: 3, maxBytes: 20 };

/** All commands parsed from the given pieces. */
function commandsOf(pieces: readonly string[], bounds: Bounds = BOUNDS): string[][] {
  const parser = new RespParser(bounds);
  const commands: string[][] = [];
  for (const piece of pieces) {
    parser.push(piece);
    for (let next = parser.next(); next !== undefined; next = parser.next()) commands.push([...next]);
  }
  return commands;
}

const refused = (text: string, reason: string, bounds?: Bounds): void =>
  expect(() => commandsOf([text], bounds), JSON.stringify(text)).toThrow(new ProtocolError(reason));

describe('commands with length prefixes', () => {
  test('are parsed one after the other', () => {
    const text = command('PING') + command('SET', 'k', '') + command('GET', 'a\r\nb');
    expect(commandsOf([text])).toEqual([['PING'], ['SET', 'k', ''], ['GET', 'a\r\nb']]);
  });

  test('are parsed the same wherever the input is split', () => {
    const text = `${command('SET', 'key', '$3\r\n')}PING now\r\n\r\n*0\r\n*-1\r\n${command('GET', '')}`;
    const whole = [
      ['SET', 'key', '$3\r\n'],
      ['PING', 'now'],
      ['GET', ''],
    ];
    expect(commandsOf(text.split(''))).toEqual(whole);
    for (let cut = 0; cut <= text.length; cut++)
      expect(commandsOf([text.slice(0, cut), text.slice(cut)]), `cut at ${cut}`).toEqual(whole);
  });

  test('with zero or a negative number of arguments are skipped', () => {
    expect(commandsOf([`*0\r\n*-1\r\n*-7\r\n${command('PING')}`])).toEqual([['PING']]);
  });

  test('may have as many arguments and bytes as the bounds allow, but not more', () => {
    expect(commandsOf([command('a', 'b', 'c')])).toEqual([['a', 'b', 'c']]);
    refused(command('a', 'b', 'c', 'd'), 'invalid multibulk length');
    expect(commandsOf([command('x'.repeat(10), 'y'.repeat(10))])).toHaveLength(1);
    refused(command('x'.repeat(10), 'y'.repeat(11)), 'invalid bulk length');
  });

  test('are measured separately, so the bytes of one command do not count toward the next command', () => {
    const text = command('x'.repeat(20));
    expect(commandsOf([text + text, text])).toHaveLength(3);
    expect(commandsOf([...text.split(''), ...text.split('')])).toHaveLength(2);
  });

  test('are rejected as soon as a length is too large, before the data arrives', () => {
    refused('*1\r\n$21\r\n', 'invalid bulk length');
    refused('*4\r\n', 'invalid multibulk length');
  });

  test.each([
    ['*x\r\n', 'invalid multibulk length'],
    ['*\r\n', 'invalid multibulk length'],
    ['*-\r\n', 'invalid multibulk length'],
    ['*1x\r\n', 'invalid multibulk length'],
    ['*1x\n', 'invalid multibulk length'],
    ['*1\rx', 'invalid multibulk length'],
    ['*1:\r\n', 'invalid multibulk length'],
    ['*1/\r\n', 'invalid multibulk length'],
    [`*${'0'.repeat(20)}`, 'invalid multibulk length'],
    ['*1\r\n$x\r\n', 'invalid bulk length'],
    ['*1\r\n$-1\r\n', 'invalid bulk length'],
    ['*1\r\n:1\r\n', "expected '$', got ':'"],
    ['*1\r\n~1\r\n', "expected '$', got '~'"],
    ['*1\r\n!1\r\n', "expected '$', got '!'"],
    ['*1\r\n 1\r\n', "expected '$', got '?'"],
    ['*1\r\n\x7f1\r\n', "expected '$', got '?'"],
    ['*1\r\n$1\r\nab\r\n', 'an argument is longer than its declared length'],
    ['*1\r\n$1\r\na\rb', 'an argument is longer than its declared length'],
    ['*1\r\n$1\r\nab\n', 'an argument is longer than its declared length'],
  ])('are rejected if they are malformed: %j', (text, reason) => refused(text, reason));

  test('must have lengths of decimal digits only', () => {
    const many: Bounds = { maxArguments: 100, maxBytes: 100 };
    refused('*1:\r\n', 'invalid multibulk length', many);
    refused('*1/\r\n', 'invalid multibulk length', many);
    expect(commandsOf([command('x'.repeat(90), 'y'.repeat(9))], many)).toHaveLength(1);
  });

  test('may have length lines of up to twenty characters, including the type character and leading zeros', () => {
    expect(commandsOf([`*${'1'.padStart(19, '0')}\r\n$4\r\nPING\r\n`])).toEqual([['PING']]);
  });
});

describe('an inline command', () => {
  const WIDE: Bounds = { maxArguments: 10, maxBytes: 100_000 };

  test.each([
    ['PING\r\n', ['PING']],
    ['PING\n', ['PING']],
    [' \t\v\f GET  k\t\vv \r\n', ['GET', 'k', 'v']],
    ['GET "a b" \'c d\'\r\n', ['GET', 'a b', 'c d']],
    ['GET "" \'\'\r\n', ['GET', '', '']],
    ['GET "a\\ b" \'c\\ d\'\r\n', ['GET', 'a b', 'c\\ d']],
    ['SET VALUE v\r\n', ['SET', 'VALUE', 'v']],
    ['GET "\\n\\r\\t\\b\\a\\x41\\x7e\\q\\"\\\\"\r\n', ['GET', '\n\r\t\b\x07A~q"\\']],
    ["GET 'it\\'s \\n'\r\n", ['GET', "it's \\n"]],
    ['GET "it\'s" \'say "hi"\'\r\n', ['GET', "it's", 'say "hi"']],
    ['GET \xa0\x85\r\n', ['GET', '\xa0\x85']],
    ['GET "\\xg1 \\x4"\r\n', ['GET', 'xg1 x4']],
  ])('is split into words: %j', (text, words) => {
    expect(commandsOf([text], WIDE)).toEqual([words]);
    expect(commandsOf(text.split(''), WIDE)).toEqual([words]);
  });

  test.each(['GET "a\r\n', "GET 'a\r\n", 'GET "a"b\r\n', 'GET a"b"\r\n', 'GET "a\\"\r\n', "GET 'a'b\r\n"])(
    'is rejected if a quote is not closed or not followed by a blank: %j',
    (text) => refused(text, 'unbalanced quotes in request', WIDE),
  );

  test('is skipped if the line is empty', () => {
    expect(commandsOf(['\r\n\n  \r\nPING\r\n'], WIDE)).toEqual([['PING']]);
  });

  test('may have as many words and bytes as the bounds allow, but not more', () => {
    expect(commandsOf(['a b c\n'])).toEqual([['a', 'b', 'c']]);
    refused('a b c d\n', 'too many words');
    expect(commandsOf([`${'x'.repeat(20)}\n`])).toHaveLength(1);
    refused(`${'x'.repeat(21)}\n`, 'too big inline request');
    refused('x'.repeat(21), 'too big inline request');
    expect(commandsOf(['x'.repeat(20)])).toEqual([]);
  });

  test('has at most 16 kB, even if the bounds allow more', () => {
    expect(commandsOf([`${'x'.repeat(16_384)}\n`], WIDE)).toHaveLength(1);
    refused(`${'x'.repeat(16_385)}\n`, 'too big inline request', WIDE);
  });

  test('counts only its own line toward the size limit, not the input before or after it', () => {
    const line = `${'x'.repeat(20)}\n`;
    expect(commandsOf([line.repeat(5)])).toHaveLength(5);
  });
});

test('isMidway is true from the first byte of a command until its last byte', () => {
  const parser = new RespParser(BOUNDS);
  expect(parser.isMidway).toBe(false);
  const text = command('GET', 'k');
  let isBegun = false;
  for (const sign of text.split('')) {
    expect(parser.next()).toBe(undefined);
    expect(parser.isMidway).toBe(isBegun);
    parser.push(sign);
    expect(parser.isMidway).toBe(true);
    isBegun = true;
  }
  expect(parser.next()).toEqual(['GET', 'k']);
  expect(parser.isMidway).toBe(false);
  parser.push('PING');
  expect(parser.next()).toBe(undefined);
  expect(parser.isMidway).toBe(true);
});

test('bounds that change between two commands apply to the second command', () => {
  const parser = new RespParser(BOUNDS);
  parser.push(command('a', 'b') + command('a', 'b'));
  expect(parser.next()).toEqual(['a', 'b']);
  parser.bounds = { maxArguments: 1, maxBytes: 20 };
  expect(() => parser.next()).toThrow(ProtocolError);
});
