import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { createLimiter } from 'sluice';
import { describe, expect, test } from 'vitest';
import { freePort } from 'sluice-test-support/redis/server.ts';
import { main } from '../../src/cli/cli.ts';
import { formatOf, readerOf } from '../../src/cli/tools/log-lines.ts';
import { textTrial } from '../../src/cli/tools/policy.ts';
import { Tally } from '../../src/cli/tools/tally.ts';
import { parseTraffic, randomFrom } from '../../src/cli/tools/traffic.ts';
import { serving, take, temporaryFile } from '../serving.ts';

/** Runs a command, and returns its exit code and output. */
async function sluice(...args: string[]): Promise<[code: number, printed: string]> {
  const { code, printed } = running(...args);
  return [await code, printed()];
}

function running(...args: string[]): { readonly code: Promise<number>; readonly printed: () => string } {
  let printed = '';
  const write = (text: string) => {
    printed += text;
  };
  return { code: main(args, { out: write, err: write }), printed: () => printed };
}

describe('traffic', () => {
  const first = (text: string, count: number) => {
    const times: number[] = [];
    for (const now of parseTraffic(text)(randomFrom(1))) if (times.push(now) === count) break;
    return times;
  };

  test('is generated steadily or in bursts', () => {
    expect(first('steady:2/s', 3)).toEqual([0, 500, 1000]);
    expect(first('burst:2@1m', 5)).toEqual([0, 0, 60_000, 60_000, 120_000]);
  });

  test('of kind poisson has the expected mean and variance, and is the same for the same seed', () => {
    const times = first('poisson:10/s', 20_000);
    const gaps = times.map((time, i) => time - (times[i - 1] ?? 0));
    const mean = gaps.reduce((a, b) => a + b) / gaps.length;
    const deviation = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
    expect(mean).toBeGreaterThan(97);
    expect(mean).toBeLessThan(103);
    expect(deviation / mean).toBeGreaterThan(0.97);
    expect(deviation / mean).toBeLessThan(1.03);
    expect(first('poisson:10/s', 5)).toEqual(times.slice(0, 5));
  });
});

describe('sluice simulate', () => {
  test('prints rows whose numbers add up to the totals', async () => {
    const [code, printed] = await sluice('simulate', '100/s', '--traffic', 'burst:150@1s', '--for', '10s');
    expect(code).toBe(0);
    expect(printed.match(/ 100 +50 /g)).toHaveLength(10);
    expect(printed).toContain('1500 requests: 1000 allowed (66.67 %), 500 denied (33.33 %)');
  });

  test('applies a limit from a configuration file to each key separately', async () => {
    const file = temporaryFile(
      'limits: { a: { policies: 1/min fixed-window, overrides: { 0: 2/min fixed-window } } }'.replace(
        '0:',
        '"0":',
      ),
    );
    const args = ['--config', file, '--limit', 'a', '--traffic', 'steady:100/min', '--for', '1m'];
    expect((await sluice('simulate', ...args))[1]).toContain('100 requests: 2 allowed');
    expect((await sluice('simulate', ...args, '--keys', '3'))[1]).toContain('100 requests: 4 allowed');
  });

  test.each([
    [[]],
    [['10/x']],
    [['1/s', '--traffic', 'jam']],
    [['1/s', '--for', 'ever']],
    [['1/s', 'more']],
    [['--config', 'none.yaml', '--limit', 'a']],
  ])('rejects invalid usage with an explanation: %j', async (args) => {
    const [code, printed] = await sluice('simulate', ...args);
    expect(code).toBeGreaterThan(0);
    expect(printed).not.toMatch(/ {4}at /);
  });
});

describe('reading a log line', () => {
  const common = '1.2.3.4 - ann [10/Oct/2024:13:55:36 -0700] "GET /a?x=1 HTTP/1.1" 200 23 "-" "curl/8"';
  const at = Date.UTC(2024, 9, 10, 20, 55, 36);
  const cases: [by: string | undefined, line: string, key: string | undefined, cost?: number][] = [
    [undefined, common, '1.2.3.4'],
    ['user', common, 'ann'],
    ['path', common, '/a'],
    ['ip+method', common, '1.2.3.4 GET'],
    ['all', common, '*'],
    [undefined, '2024-10-10T20:55:36Z ann', 'ann'],
    [undefined, `${at / 1000} ann 5`, 'ann', 5],
    [undefined, `${at} ann 0.5`, 'ann', 0.5],
    [undefined, `{"time":"2024-10-10T20:55:36Z","key":"ann"}`, 'ann'],
    ['user', `{"ts":${at},"user":7,"cost":3}`, '7', 3],
    ['user', `{"ts":${at}}`, undefined],
    [undefined, '{"time":', undefined],
    [undefined, '{"time":"x","key":"a"}', undefined],
    [undefined, 'nonsense', undefined],
    [undefined, `${at} ann -1`, undefined],
    [undefined, 'yesterday ann', undefined],
  ];
  test.each(cases)('with --by %s finds the key or skips an invalid line: %s', (by, line, key, cost = 1) => {
    const request = readerOf(formatOf(line), by, line)(line);
    expect(request).toEqual(key === undefined ? undefined : { at, key, cost });
  });
});

describe('sluice replay', () => {
  const start = Date.UTC(2026, 0, 1);
  const log = Array.from({ length: 600 }, (_, i) => `${start + i * 1000} ${i % 3 === 0 ? 'rare' : 'busy'}`);

  test('reports how many requests would have been denied, when, and for which keys', async () => {
    const file = temporaryFile([...log, 'rubbish', ''].join('\n'), 'log');
    const [code, printed] = await sluice('replay', file, '--policy', '25/min fixed-window', '--every', '5m');
    expect(code).toBe(0);
    expect(printed).toContain('2026-01-01T00:00:00       225        75');
    expect(printed).toContain('600 requests: 450 allowed (75.00 %), 150 denied (25.00 %)');
    expect(printed).toContain('1 lines could not be parsed');
    expect(printed).toMatch(/denied most often\n +150 {2}busy\n$/);
  });

  test.each([
    ['a minute', 1000, 60, 60, '00:00:59'],
    ['ten minutes', 10_000, 60, 40, '00:09:45'],
    ['a day', 600_000, 144, 24, '23:00:00'],
    ['a month in reverse order', -3_600_000, 720, 31, '00:00:00'],
  ])(
    'chooses a suitable duration per row for a log of %s, and counts every request',
    async (_, step, count, rows, last) => {
      const lines = Array.from({ length: count }, (__, i) => `${start + i * step} k`);
      const [, printed] = await sluice(
        'replay',
        temporaryFile(lines.join('\n'), 'log'),
        '--policy',
        '1000/day',
      );
      const table = printed.split('\n').filter((line) => /^\d{4}-\d\d-\d\dT/.test(line));
      expect(table).toHaveLength(rows);
      expect(table.at(-1)).toContain(`T${last} `);
      const passed = table.map((line) => Number(line.trim().split(/ +/)[1]));
      expect(passed.reduce((sum, one) => sum + one, 0)).toBe(count);
    },
  );

  test('shows at most 60 rows without --every, wherever the first row starts', () => {
    const decision = createLimiter('1/s').peek('k');
    let most = 0;
    for (const start of [0, 4000, 14_000, 59_000, 3_599_000])
      for (let seconds = 50; seconds < 5000; seconds++) {
        const tally = new Tally();
        tally.add(start, decision);
        tally.add(start + seconds * 1000, decision);
        const [first, last] = tally.inOrder();
        most = Math.max(most, 1 + ((last ?? first).start - first.start) / tally.step);
      }
    expect(most).toBe(60);
  });

  test('finds CSV columns by their names', async () => {
    const rows = log.map((line) => line.replace(' ', ',"a, ""b""",'));
    const file = temporaryFile(['at,note,user', ...rows].join('\n'), 'log.csv');
    const [, printed] = await sluice('replay', file, '--policy', '25/min fixed-window', '--by', 'user');
    expect(printed).toContain('600 requests: 450 allowed (75.00 %)');
    const [, both] = await sluice('replay', file, '--policy', '1/day', '--by', 'user+note');
    expect(both).toContain('busy a, "b"');
  });

  test('rejects an unknown column in --by, and a log without a time column', async () => {
    const file = temporaryFile('time,name\n1,a\n', 'log.csv');
    expect(await sluice('replay', file, '--policy', '1/s', '--by', 'name+user')).toEqual([
      2,
      expect.stringContaining('--by must be a column (time, name); got user'),
    ]);
    const timeless = temporaryFile('when,key\n1,a\n', 'log.csv');
    expect(await sluice('replay', timeless, '--policy', '1/s', '--format', 'csv')).toEqual([
      2,
      expect.stringContaining('no time column'),
    ]);
  });

  test('writes an HTML report that escapes keys', async () => {
    const lines = [...log, ...log.map((line) => line.replace(/\w+$/, '<script>'))];
    const file = temporaryFile(lines.join('\n'), 'log');
    const page = `${file}.html`;
    await sluice('replay', file, '--policy', '25/min fixed-window', '--every', '10m', '--html', page);
    const html = readFileSync(page, 'utf8');
    expect(html).toContain('<title>2026-01-01 00:00:00 UTC: 475 allowed, 725 denied</title>');
    expect(html).toContain('&lt;script&gt;');
    expect(html).not.toContain('<script');
  });

  const suggest = async (file: string, policy: string, share: string) =>
    /of the requests: (.*) \(allows/.exec(
      (await sluice('replay', file, '--policy', policy, '--suggest', share))[1],
    )?.[1];

  test('suggests the smallest limit that allows a given percentage of the requests', async () => {
    const file = temporaryFile(log.join('\n'), 'log');
    expect(await suggest(file, '10/min fixed-window', '100%')).toBe('40/min fixed-window');
    expect(await suggest(file, '1000/min fixed-window', '100%')).toBe('40/min fixed-window');
    // This allows 18 of the 20 requests of one key, and 18 of the 40 requests of the other.
    expect(await suggest(file, '10/min fixed-window', '60%')).toBe('18/min fixed-window');
    expect(await suggest(file, '1/min fixed-window', '0.1%')).toBe('1/min fixed-window');
    expect(await suggest(file, '1/1000d fixed-window', '100%')).toBe(undefined);
    expect(await suggest(file, '10/min burst 20', '0.5')).toMatch(/^\d+\/min burst \d+$/);
  });

  test.each([
    ['5/s', 'poisson:20/s', '99.9%', 0.999],
    ['5/s', 'poisson:20/s', '50%', 0.5],
    ['64/min burst 16', 'poisson:20/s', '95%', 0.95],
    ['10/min sliding-window', 'burst:30@20s', '90%', 0.9],
  ])(
    'suggests, for the policy %s and the traffic %s, the smallest limit that allows %s of the requests',
    async (policy, traffic, text, share) => {
      const random = randomFrom(7);
      const times: number[] = [];
      for (const now of parseTraffic(traffic)(random)) if (times.push(Math.floor(now)) === 2000) break;
      const requests = times.map((at) => [start + at, `k${Math.floor(random() * 5)}`] as const);
      const file = temporaryFile(requests.map(([at, key]) => `${at} ${key}`).join('\n'), 'log');
      const passed = (limit: number): number => {
        const [number = '', rest = ''] = policy.split('/');
        const scaled = rest.replace(/\d+$/, (burst) =>
          String(Math.max(1, Math.round((Number(burst) * limit) / Number(number)))),
        );
        const trial = textTrial(`${limit}/${scaled}`);
        return requests.filter(([at, key]) => trial.take(key, 1, at).allowed).length / requests.length;
      };
      let smallest = 1;
      while (passed(smallest) < share) smallest++;
      const suggested = Number((await suggest(file, policy, text))?.split('/')[0]);
      // A suggested limit below 100 is exact. A higher one may exceed the smallest limit by 1 %.
      expect(suggested).toBeGreaterThanOrEqual(smallest);
      expect(suggested - smallest).toBeLessThanOrEqual(Math.floor(suggested / 100));
    },
  );

  test('decompresses .gz files, and reads lines that end in CRLF', async () => {
    const args = ['--policy', '25/min fixed-window'];
    const plain = await sluice('replay', temporaryFile(log.join('\n'), 'log'), ...args);
    const compressed = temporaryFile('', 'log.gz');
    writeFileSync(compressed, gzipSync(log.join('\r\n')));
    expect(await sluice('replay', compressed, ...args)).toEqual(plain);
    writeFileSync(compressed, 'not compressed');
    expect(await sluice('replay', compressed, ...args)).toEqual([1, 'sluice: incorrect header check\n']);
  });

  test('reads whole lines wherever chunks end, and rejects a file with an endless line', async () => {
    const long = Array.from({ length: 20_000 }, (_, i) => `${start + i} ${'ü'.repeat(i % 50)}${i % 10}`);
    const [, printed] = await sluice('replay', temporaryFile(long.join('\n'), 'log'), '--policy', '1/day');
    expect(printed).toContain('20000 requests: 50 allowed');
    expect(printed).not.toContain('could not be parsed');
    const endless = temporaryFile('x'.repeat(3 * 1024 * 1024), 'log');
    expect(await sluice('replay', endless, '--policy', '1/day')).toEqual([
      2,
      expect.stringContaining('is not a log'),
    ]);
  });

  test('prints no control characters from keys', async () => {
    const file = temporaryFile(`${start} evil\u001b[2J\n`.repeat(3), 'log');
    const [, printed] = await sluice('replay', file, '--policy', '1/day');
    expect(printed).toContain('2  evil·[2J');
  });

  test.each([
    [['none.log', '--policy', '1/s']],
    [['-x']],
    [[temporaryFileOnce(), '--policy', '1/s & 2/min', '--suggest', '99%']],
    [[temporaryFileOnce(), '--policy', '1/s', '--suggest', '200%']],
    [[temporaryFileOnce(), '--policy', '1/s', '--format', 'xml']],
    [[temporaryFileOnce()]],
  ])('rejects invalid usage with an explanation: %j', async (args) => {
    const [code, printed] = await sluice('replay', ...args);
    expect(code).toBe(2);
    expect(printed).toMatch(/^sluice: /);
  });
});

describe('sluice top', () => {
  test('shows rates and the most denied keys, without control characters', async () => {
    const server = await serving('limits: { a: 2/h }', { metrics: { topKeys: 20 } });
    for (let i = 0; i < 5; i++) await take(server.url, 'a', 'evil \u001b[2J');
    const [code, printed] = await sluice('top', server.url, '--times', '2', '--every', '1ms');
    expect(code).toBe(0);
    expect(printed).toContain('store up');
    expect(printed).toMatch(/0\.0 +0\.0 {2}a\n/);
    expect(printed).toContain('3  a  evil ·[2J');
    expect(printed).not.toContain('\u001b');
  });

  test('reconnects to a server that stops and starts again', async () => {
    // The server needs a port that no other process takes while the server is stopped.
    const http = { address: { host: '127.0.0.1', port: await freePort() } };
    const first = await serving('limits: { a: 2/h }', { listeners: { http } });
    await take(first.url, 'a', 'x');
    const { code, printed } = running('top', first.url, '--times', '40', '--every', '50ms');
    const soon = { timeout: 10_000 };
    await expect.poll(printed, soon).toMatch(/ {2}a\n/);
    await first.drain({ timeout: 0 });
    await expect.poll(printed, soon).toContain('cannot reach');
    const second = await serving('limits: { b: 2/h }', { listeners: { http } });
    await take(second.url, 'b', 'x');
    expect(await code).toBe(0);
    expect(printed()).toMatch(/ {2}a\n.*cannot reach.* {2}b\n/s);
    expect(printed()).not.toMatch(/ -\d/);
  });

  test('exits with code 1 and says what to do if it cannot get the metrics', async () => {
    const failing = async (url: string) => sluice('top', url, '--times', '1');
    const port = await freePort();
    expect(await failing(`http://127.0.0.1:${port}`)).toEqual([
      1,
      `sluice: cannot reach http://127.0.0.1:${port}: Error: connect ECONNREFUSED 127.0.0.1:${port}. Check that the server is running, and pass the URL of its HTTP listener.\n`,
    ]);
    const http = { address: { host: '127.0.0.1', port: 0 }, tokens: () => ['secret'] };
    const { url } = await serving('limits: { a: 2/h }', { listeners: { http } });
    expect(await failing(url)).toEqual([
      1,
      expect.stringContaining(`${url} responded with status 401. Pass a token`),
    ]);
  });
});

/** Returns the path of this file, for tests that need any existing file. */
function temporaryFileOnce(): string {
  return new URL(import.meta.url).pathname;
}
