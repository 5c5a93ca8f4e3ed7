/** Fuzz tests. No file, text, link or stream may crash the page, make it show impossible values, or block it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { numbersOf } from '../src/live/answer.ts';
import { eventParser } from '../src/live/stream.ts';
import { readLog } from '../src/model/log.ts';
import { read, write } from '../src/model/policy.ts';
import { fromQuery, MOST_LANES, toQuery } from '../src/model/state.ts';
import { generate } from '../src/model/traffic.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 120 });
const textOf = (parts: readonly string[], most = 20) =>
  fc.array(fc.constantFrom(...parts), { maxLength: most }).map((list) => list.join(''));

describe('a log', () => {
  const lines = textOf([
    ...' ,"[]{}:/-+\n'.split(''),
    '1760000000',
    '1e300',
    '-1',
    'time,key\n',
    '{"time":1,"key":2}\n',
    '{"time":1e20}\n',
    'null\n',
    '10/Oct/2024:13:55:36 -0700',
    'a',
  ]);

  test('with any text gives traffic that can be drawn, or a clear Error', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, lines), (text) => {
        let traffic: ReturnType<typeof readLog>['traffic'];
        try {
          ({ traffic } = readLog('a.log', text));
        } catch (error) {
          expect(String(error)).toBe('Error: a.log contains no line with a valid time');
          return;
        }
        const { times, keys, names, origin, length } = traffic;
        expect(Number.isNaN(new Date(origin).getTime())).toBe(false);
        expect(Number.isNaN(new Date(origin + length).getTime())).toBe(false);
        expect(times.length).toBeGreaterThan(0);
        expect(times.every((time, i) => time >= (times[i - 1] ?? 0) && time < length)).toBe(true);
        expect(keys.every((key) => key < names.length)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});

test('any text for a limit is parsed and written back, or marked as invalid at a range within the text', () => {
  const limits = textOf([
    ...' /&{}:,"'.split(''),
    ...'10|1_000|0|1e9|s|10s|month|burst|gcra|fixed-window|penalty|__proto__: 1'.split('|'),
    ...'limit: 10|per: 1s|after: 3|within: 10s|block: 20s|every: 5s'.split('|'),
  ]);
  fc.assert(
    fc.property(fc.oneof(anyText, limits), (text) => {
      const { mistake, ...reading } = read(text);
      if (mistake === undefined) {
        const { parts } = reading as { parts: Parameters<typeof write>[0] };
        expect(read(write(parts))).toEqual({ parts });
        return;
      }
      expect(mistake.why).not.toBe('');
      expect(mistake.from).toBeGreaterThanOrEqual(0);
      expect(mistake.to).toBeGreaterThan(mistake.from);
      expect(mistake.from).toBeLessThanOrEqual(text.length);
    }),
    { numRuns: 1000 },
  );
});

test('any link gives a valid state, and the link of that state gives the same state', () => {
  const members = textOf([
    ...'&=?#%+'.split(''),
    ...'limit cost 1,7 10/s traffic edge log rate size every length seed patience'.split(' '),
    ...'1e308 -1 0 5 NaN Infinity __proto__'.split(' '),
  ]);
  fc.assert(
    fc.property(fc.oneof(anyText, members), (text) => {
      const state = fromQuery(text);
      expect(state.limits.length).toBeGreaterThan(0);
      expect(state.limits.length).toBeLessThanOrEqual(MOST_LANES);
      expect(fromQuery(toQuery(state))).toEqual(state);
    }),
    { numRuns: 1000 },
  );
});

test('the numbers in a shared link never generate more traffic than can be drawn', () => {
  const number = fc.constantFrom('0.01', '1', '7', '1000', '100000', '86400000');
  const kind = fc.constantFrom('edge', 'steady', 'bursts', 'poisson', 'rogue');
  fc.assert(
    fc.property(kind, number, number, number, number, (traffic, rate, size, every, length) => {
      const query = new URLSearchParams({ traffic, rate, size, every, length });
      const { times } = generate(fromQuery(query.toString()).traffic);
      expect(times.length).toBeLessThanOrEqual(200_000);
    }),
    { numRuns: 30 },
  );
});

test('a stream gives the same events, however it is split', () => {
  const events = textOf(
    ['\n', '\r', '\r\n', 'event: a', 'data: 1', 'data:', ':', ' ', 'x', 'id: 7', '\0', 'é'],
    40,
  );
  const heard = (pieces: readonly string[]): string[][] => {
    const all: string[][] = [];
    const parse = eventParser((name, data) => all.push([name, data]));
    for (const piece of pieces) parse(piece);
    return all;
  };
  fc.assert(
    fc.property(events, fc.array(fc.nat(200)), (text, cuts) => {
      const places = [0, ...cuts.filter((cut) => cut < text.length), text.length].sort((a, b) => a - b);
      const pieces = places.slice(1).map((to, i) => text.slice(places[i], to));
      expect(heard(pieces)).toEqual(heard([text]));
    }),
    { numRuns: 1000 },
  );
});

describe('parsing 200,000 characters takes linear time', () => {
  const PARTS = [
    ...' ,"[]{}:/&=\\\t1a'.split(''),
    '""',
    '","',
    'a: ',
    ' & ',
    '1/s',
    'data: x\n',
    '\r',
    'limit=1&',
  ];
  const READERS: Readonly<Record<string, (text: string) => unknown>> = {
    'a log': (text) => tried(() => readLog('a', text)),
    'a log after its header': (text) => tried(() => readLog('a', `time,key\n${text}`)),
    'an access log': (text) => tried(() => readLog('a', `1.1.1.1 - - [${text}`)),
    'a link': fromQuery,
    'a limit': (text) => read(text.slice(0, 50_000)),
    'options of a limit': (text) => read(`penalty { after: ${text.slice(0, 50_000)} }`),
    'a stream': (text) => eventParser(() => {})(text),
  };

  test.each(Object.entries(READERS))('in %s', (_, reads) => {
    for (const part of PARTS) {
      const text = part.repeat(Math.ceil(200_000 / part.length));
      const start = process.cpuUsage();
      reads(text);
      expect([part, process.cpuUsage(start).user > 5e6]).toEqual([part, false]);
    }
  });
});

function tried(make: () => unknown): void {
  try {
    make();
  } catch (error) {
    expect(String(error)).toContain('contains no line');
  }
}

test('any response of a server is converted to numbers', () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.record({ policies: fc.array(fc.jsonValue()) })), (body) => {
      const { allowed, policy, policies, ...numbers } = numbersOf(body);
      expect([typeof allowed, typeof policy]).toEqual(['boolean', 'string']);
      expect(Object.values(numbers).every((number) => typeof number === 'number')).toBe(true);
      for (const { name, ...ofPolicy } of policies) {
        expect(typeof name).toBe('string');
        expect(Object.values(ofPolicy).every((number) => typeof number === 'number')).toBe(true);
      }
    }),
  );
});
