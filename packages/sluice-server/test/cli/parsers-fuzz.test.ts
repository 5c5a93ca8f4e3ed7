/** Fuzz tests: no input line or command line crashes a parser, is misread, or takes more than linear time. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { readArgs } from '../../src/cli/args.ts';
import { RespParser, ProtocolError } from '../../src/listeners/resp/parser.ts';
import { createLog } from '../../src/log.ts';
import { SERVE_FLAGS } from '../../src/cli/serve-flags.ts';
import { tokenOf } from '../../src/cli/token-files.ts';
import { openStore } from '../../src/store.ts';
import { UsageError } from '../../src/config/usage-error.ts';
import { splitCsv } from '../../src/cli/tools/csv.ts';
import { FORMATS, formatOf, readerOf } from '../../src/cli/tools/log-lines.ts';
import { ladderOf } from '../../src/cli/tools/suggest.ts';
import { parseTraffic } from '../../src/cli/tools/traffic.ts';

function unless<T>(refusal: new (...words: never[]) => Error, make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof refusal) return undefined;
    throw error;
  }
}

const anyText = fc.string({ unit: 'binary', maxLength: 120 });

describe('parsing log lines:', () => {
  const FIRST = { plain: '', json: '', combined: '', csv: 'time,key,cost' };
  const signs = fc
    .array(
      fc.constantFrom(
        ...' ,"[]{}:/-+?\\\t'.split(''),
        '1700000000',
        '10/Oct/2024:13:55:36 -0700',
        'GET',
        '200',
        'a',
        '"time":1,"key":2',
      ),
      { maxLength: 20 },
    )
    .map((parts) => parts.join(''));

  test.each(FORMATS)(
    'any line in the %s format gives a request with a valid time and cost, or is skipped',
    (format) => {
      const read = readerOf(format, undefined, FIRST[format]);
      fc.assert(
        fc.property(fc.oneof(anyText, signs), (line) => {
          formatOf(line);
          const request = read(line);
          if (request === undefined) return;
          expect(request.at >= 0 && request.at < Infinity).toBe(true);
          expect(request.cost >= 0 && request.cost < Infinity).toBe(true);
          expect(typeof request.key).toBe('string');
        }),
        { numRuns: 1000 },
      );
    },
  );

  test('quoted CSV cells are read back unchanged', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', ' ', 'é') }).map((text) => text.trim());
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1 }), (cells) => {
        expect(splitCsv(cells.map(quoted).join(','))).toEqual(cells);
      }),
    );
  });

  test('the fields of an Nginx log line are read back unchanged', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'Z', '0', '.', '/', '-', '%', ':'), minLength: 1 });
    const read = readerOf('combined', 'ip+user+method+path', '');
    fc.assert(
      fc.property(word, word, word, fc.constantFrom('', '?q=1', '?a b'), (ip, user, path, query) => {
        const line = `${ip} - ${user} [10/Oct/2024:13:55:36 -0700] "GET ${path}${query} HTTP/1.1" 200 5 "-" "x"`;
        expect(read(line)).toEqual({ at: 1_728_593_736_000, key: `${ip} ${user} GET ${path}`, cost: 1 });
      }),
    );
  });
});

test('--suggest accepts any text as a policy or rejects it with a UsageError', () => {
  const signs = [...' /&_-'.split(''), '10', '0', 's', '10s', 'burst 20', 'sliding-log', '9'.repeat(400)];
  const policy = fc.array(fc.constantFrom(...signs), { maxLength: 8 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.oneof(anyText, policy), (text) => {
      const ladder = unless(UsageError, () => ladderOf(text, 1));
      ladder?.try({ at: 1000, key: 'a', cost: 1 });
      expect(ladder === undefined || (ladder.best(0.9)?.share ?? 1) <= 1).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

describe('parsing 200,000 characters takes linear time', () => {
  const PARTS = [...' ,"[]{}:/?-\\\t1a'.split(''), 'a b c [d] "', '""', '","', '{"a":', 'a ', '1 '];
  const COMMON = '1.1.1.1 - - [10/Oct/2024:13:55:36 -0700] "';
  const READERS: Readonly<Record<string, (text: string) => unknown>> = {
    'a log of unknown format': formatOf,
    'a line of a plain log': readerOf('plain', undefined, ''),
    'a field of a plain log': (text) => readerOf('plain', undefined, '')(`1 ${text}`),
    'a line of a JSON log': readerOf('json', undefined, ''),
    'a line of a CSV log': readerOf('csv', undefined, 'time,key'),
    'a line of a combined log': readerOf('combined', undefined, ''),
    'the request in a combined log': (text) => readerOf('combined', undefined, '')(COMMON + text),
    'the path in a combined log': (text) => readerOf('combined', undefined, '')(`${COMMON}GET ${text}`),
    'a value of --traffic': (text) => unless(UsageError, () => parseTraffic(text)),
    'the rate in a value of --traffic': (text) => unless(UsageError, () => parseTraffic(`steady:${text}/s`)),
    'a policy for --suggest': (text) => unless(UsageError, () => ladderOf(`1/${text}`, 1)),
    'a RESP command': (text) =>
      unless(ProtocolError, () => {
        const parser = new RespParser({ maxArguments: 1000, maxBytes: 2_000_000 });
        parser.push(`*2\r\n$4\r\nECHO\r\n$1000000\r\n${text}`);
        while (parser.next() !== undefined);
      }),
  };

  test.each(Object.entries(READERS))('in %s', (_, read) => {
    for (const part of PARTS) {
      const text = part.repeat(Math.ceil(200_000 / part.length));
      const start = process.cpuUsage();
      read(text);
      // The test measures CPU time, which does not include the work of other processes. Quadratic work would take half a minute.
      expect([part, process.cpuUsage(start).user > 5e6]).toEqual([part, false]);
    }
  });

  test('in a RESP command that arrives in pieces of one byte', () => {
    const parser = new RespParser({ maxArguments: 10, maxBytes: 2_000_000 });
    const start = process.cpuUsage();
    for (const sign of '*1\r\n$200000\r\n') parser.push(sign);
    let command: string[] | undefined;
    for (let i = 0; i < 200_000; i++) {
      parser.push('x');
      command ??= parser.next();
    }
    parser.push('\r\n');
    expect((command ?? parser.next())?.[0]?.length).toBe(200_000);
    expect(process.cpuUsage(start).user).toBeLessThan(3e6);
  });
});

describe('input from the operator:', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-fuzz-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('any command line is parsed or rejected with a UsageError', () => {
    const word = fc.oneof(
      anyText,
      fc.constantFrom('--', '-', '--http', '--config', '--deny-cache=', '--max-key=-1'),
    );
    const flags = Object.keys(SERVE_FLAGS);
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (argv) => {
        const args = unless(UsageError, () => readArgs(argv, SERVE_FLAGS));
        if (args === undefined) return;
        for (const flag of flags) args.has(flag);
        for (const flag of ['max-key', 'top-keys']) unless(UsageError, () => args.integer(flag));
        for (const listener of ['http', 'grpc', 'resp']) {
          const address = unless(UsageError, () => args.address(listener));
          if (address !== undefined) expect(address.port).toBeLessThanOrEqual(65_535);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('the first token of a token file is its first line that is neither blank nor a comment', () => {
    const file = join(folder, 'tokens');
    const token = fc.string({ unit: fc.constantFrom('a', 'Z', '9', '-', '_', '=', '#'), minLength: 1 });
    const noise = fc.constantFrom('', ' ', '\t', '# a comment', '  # another', '\r');
    fc.assert(
      fc.property(
        fc.array(noise),
        token,
        fc.array(token),
        fc.constantFrom('\n', '\r\n'),
        (before, first, more, end) => {
          fc.pre(!first.startsWith('#'));
          writeFileSync(file, [...before, ` ${first} `, ...more].join(end));
          expect(tokenOf(file)).toBe(first);
        },
      ),
    );
  });

  test('a password never appears in a message or a store name, however the URL is written', async () => {
    const secret = 'hunter2';
    const part = fc.string({ unit: fc.constantFrom('a', '@', '/', ':', '%', '?', '#', '+'), maxLength: 6 });
    const scheme = fc.constantFrom(
      'redis+',
      'rediss+clusters',
      'http',
      'redis+sentinels',
      'postgress',
      'mysql',
    );
    await fc.assert(
      fc.asyncProperty(
        scheme,
        part,
        part,
        fc.constantFrom('host', 'h:1', '[::1]:1', ''),
        async (kind, a, b, host) => {
          const url = `${kind}://user:${a}${secret}${b}@${host}`;
          const error = await openStore({ url }).then(
            () => new Error('opened'),
            (reason: Error) => reason,
          );
          expect(error).toBeInstanceOf(UsageError);
          expect(error.message).not.toContain(secret);
        },
      ),
    );
  });
});

describe('log output:', () => {
  const value = fc.oneof(
    anyText,
    fc.constantFrom('a\nlevel=error b', '\x1b[2J', '\x9b2J', '\u2028', '"', '\r\n'),
  );

  test('a message is one line of JSON, whatever its fields contain', () => {
    fc.assert(
      fc.property(value, value, (message, field) => {
        const lines: string[] = [];
        createLog((line) => lines.push(line), { format: 'json' }).error(message, { field });
        expect(lines).toHaveLength(1);
        expect(lines[0]?.slice(0, -1)).not.toMatch(/[\n\r]/);
        expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'error', message, field });
      }),
    );
  });

  test('a message on a terminal is one line, without control characters from its fields', () => {
    fc.assert(
      fc.property(value, (field) => {
        const lines: string[] = [];
        createLog((line) => lines.push(line), { format: 'text' }).error('it failed', { field });
        expect(lines).toHaveLength(1);
        const obeyed = Array.from(lines[0].slice(0, -1)).filter((character) =>
          /[\p{Cc}\u2028\u2029]/u.test(character),
        );
        expect(obeyed).toEqual([]);
      }),
    );
  });
});
