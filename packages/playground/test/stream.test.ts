import { describe, expect, test } from 'vitest';
import { stretchesOf } from '../src/draw/rates.ts';
import { numbersOf } from '../src/live/answer.ts';
import { eventParser } from '../src/live/stream.ts';

function heard(...pieces: string[]): [name: string, data: string][] {
  const events: [string, string][] = [];
  const parse = eventParser((name, data) => events.push([name, data]));
  for (const piece of pieces) parse(piece);
  return events;
}

describe('server-sent events', () => {
  test('are parsed completely, however the text is split', () => {
    const text =
      'event: config\ndata: {"a":\ndata: 1}\n\n: comment\r\n\r\nretry: 1000\ndata:x\n\nevent: lost\n\n';
    const expected = [
      ['config', '{"a":\n1}'],
      ['message', 'x'],
    ];
    expect(heard(text)).toEqual(expected);
    expect(heard(...text.split(''))).toEqual(expected);
    expect(heard(text.slice(0, -40), text.slice(-40))).toEqual(expected);
  });

  test('are not delivered before the empty line that ends them', () => {
    expect(heard('data: x\n')).toEqual([]);
  });
});

test('a gap of several seconds splits the points of a chart into two groups', () => {
  const points = [0, 1000, 2000, 9000, 10_000].map((at) => ({
    at,
    span: 1000,
    allowed: 1,
    denied: 0,
    near: 0,
    shadowed: 0,
  }));
  expect(stretchesOf(points).map((stretch) => stretch.length)).toEqual([3, 2]);
});

test('null in a response means Infinity', () => {
  expect(
    numbersOf({ allowed: false, policy: 'p', limit: 1, remaining: 0, retryAfter: null, resetAfter: 5 }),
  ).toEqual({
    allowed: false,
    policy: 'p',
    limit: 1,
    remaining: 0,
    retryAfter: Infinity,
    resetAfter: 5,
    policies: [],
  });
});
