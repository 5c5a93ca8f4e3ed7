import { describe, expect, test } from 'vitest';
import { fileOf } from '../src/model/code.ts';
import { readLog } from '../src/model/log.ts';
import { TRAFFIC } from '../src/model/state.ts';
import { generate } from '../src/model/traffic.ts';

const COMBINED = `203.0.113.9 - - [10/Oct/2025:13:55:36 -0700] "GET / HTTP/1.1" 200 2326 "-" "curl/8"
198.51.100.2 - ann [10/Oct/2025:13:55:38 -0700] "GET /a HTTP/1.1" 200 12 "-" "curl/8"
not a line
203.0.113.9 - - [10/Oct/2025:13:55:37 -0700] "GET /b HTTP/1.1" 200 12 "-" "curl/8"`;

describe('a recorded log', () => {
  test('in access log format is keyed by address, in chronological order, with the original times', () => {
    const { traffic, by, skipped } = readLog('access.log', COMBINED);
    expect([...traffic.times]).toEqual([0, 1000, 2000]);
    expect([...traffic.keys].map((key) => traffic.names[key])).toEqual([
      '203.0.113.9',
      '203.0.113.9',
      '198.51.100.2',
    ]);
    expect(traffic.origin).toBe(Date.UTC(2025, 9, 10, 20, 55, 36));
    expect([by, skipped]).toEqual(['ip', 1]);
  });

  test.each([
    ['JSON lines', '{"ts":1760000000.5,"user":"ann"}\n{"ts":1760000002,"user":"ben"}\n{"no":1}', 'user', 1],
    [
      'JSON with dates',
      '{"time":"2025-10-09T08:53:20.5Z","ip":"ann"}\n{"time":"2025-10-09T08:53:22Z","ip":"ben"}',
      'ip',
      0,
    ],
    ['CSV', 'path,Timestamp,key\n"/a,b",1760000000500,ann\n/c,1760000002000,ben\n', 'key', 0],
    ['a time and a name', '1760000000.5 ann\n1760000002 ben\n', undefined, 0],
  ])('in the form of %s is read', (_, text, by, skipped) => {
    const log = readLog('log', text);
    expect([...log.traffic.times]).toEqual([500, 2000]);
    expect(log.traffic.names).toEqual(['ann', 'ben']);
    expect([log.by, log.skipped]).toEqual([by, skipped]);
    expect(log.traffic.origin).toBe(1_760_000_000_000);
    expect(log.traffic.length).toBe(3000);
  });

  test('without a valid time is rejected', () => {
    expect(() => readLog('poem.txt', 'roses are red\nviolets are blue')).toThrow('poem.txt contains no line');
    expect(() => readLog('empty', '')).toThrow('empty contains no line');
  });

  test('that the page saved can be read back', () => {
    const made = generate(TRAFFIC.rogue);
    const { traffic } = readLog('traffic.log', fileOf(made));
    expect(traffic.names.map(String)).toEqual(made.names.map(String));
    expect(traffic.times.length).toBe(made.times.length);
    for (const [i, time] of traffic.times.entries())
      expect(time + traffic.origin).toBeCloseTo(made.times[i], 6);
  });
});
