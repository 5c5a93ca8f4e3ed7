/** Fuzz tests. Any command and any request path must be answered, and never with a server error. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { openHttp } from '../../../src/listeners/http/http.ts';
import { openResp } from '../../../src/listeners/resp/resp.ts';
import { linesOf } from '../../../src/cli/tools/lines.ts';
import { durationOf } from '../../../src/cli/tools/duration.ts';
import { UsageError } from '../../../src/config/usage-error.ts';
import { command, opened, talk } from '../listeners.ts';

const LIMITS = `
limits:
  api: 1000000/h
  edge: { policies: 5/h, tiers: { pro: 10/h } }
`;
const anyText = fc.string({ unit: 'binary', maxLength: 40 });
const latin = (text: string) => Buffer.from(text).toString('latin1');

describe('RESP:', () => {
  const NAMES = 'cl.throttle throttle ping echo hello auth client select info command'.split(' ');
  const number = fc.oneof(
    fc.integer().map(String),
    fc.maxSafeInteger().map(String),
    fc.double().map(String),
    fc.constantFrom('0', '1', '-1', '+5', '', '0x10', '1e3', '9'.repeat(30), 'NaN', '-0', '9007199254740991'),
  );
  const word = fc.oneof(
    number,
    anyText.map(latin),
    fc.constantFrom(
      'api',
      'edge',
      'k',
      'COST',
      'TIER',
      'pro',
      'PEEK',
      'MODE',
      'AUTH',
      'SETNAME',
      'DOCS',
      '__proto__',
    ),
  );
  const asked = fc.oneof(
    fc
      .tuple(fc.constantFrom(...NAMES), fc.array(word, { maxLength: 7 }))
      .map(([name, more]) => [name, ...more]),
    fc.array(number, { minLength: 3, maxLength: 4 }).map((numbers) => ['cl.throttle', 'k', ...numbers]),
    fc.array(word, { minLength: 1, maxLength: 5 }),
  );
  const ANSWER = /^(\*5\r\n(:-?\d+\r\n){5}|-[A-Z]+ [^\r\n]*\r\n)$/;

  test('any words in a command give a reply or an error, and the connection stays open', async () => {
    const { port, log } = await opened(openResp, LIMITS);
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { minLength: 1, maxLength: 10 }), async (commands) => {
        const heard = await talk(
          port,
          commands.map((words) => command(...words)).join('') + command('echo', 'last'),
        );
        expect(heard.endsWith('$4\r\nlast\r\n')).toBe(true);
      }),
      { numRuns: 150 },
    );
    expect(log).toEqual([]);
  });

  test('any arguments to CL.THROTTLE give five integers or a one-line error', async () => {
    const { port, log } = await opened(openResp, LIMITS);
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(number, { minLength: 3, maxLength: 4 }), async (numbers) => {
        const heard = await talk(port, command('cl.throttle', 'k', ...numbers));
        expect(heard).toMatch(ANSWER);
        if (heard.startsWith('*')) answered++;
      }),
      { numRuns: 300 },
    );
    expect(answered).toBeGreaterThan(10);
    expect(log).toEqual([]);
  });
});

test('HTTP: any path is answered without a server error', async () => {
  const { port, log } = await opened(openHttp, LIMITS);
  const SIGNS =
    '/ // .. . ? & = % %2e %2F %zz # @ : \\ ; v1 take limits json metrics status 429 __proto__ é * http://a'.split(
      ' ',
    );
  const target = fc.oneof(
    fc.array(fc.constantFrom(...SIGNS), { maxLength: 10 }).map((parts) => parts.join('')),
    fc.webPath(),
    fc.webUrl({ withQueryParameters: true }),
    fc.string({ unit: 'binary', maxLength: 30 }).map((text) => text.replaceAll(/[\s\0]/g, '')),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS'), target, async (method, path) => {
      const head = `${method} ${latin(path)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`;
      expect(await talk(port, head)).toMatch(/^HTTP\/1\.1 [234]\d\d /);
    }),
    { numRuns: 300 },
  );
  expect(log).toEqual([]);
});

describe('log files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-words-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('are read back line by line, compressed or not', async () => {
    const line = fc.string({ unit: fc.constantFrom('a', ' ', 'é', '😀', '\r', '\0') });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1 }), fc.boolean(), async (lines, isPacked) => {
        const text = lines.join('\n');
        const file = join(folder, isPacked ? 'a.gz' : 'a.log');
        writeFileSync(file, isPacked ? gzipSync(text) : text);
        const told: string[] = [];
        for await (const some of linesOf(file, () => {})) told.push(...some);
        expect(told.join('\n')).toBe(text.replace(/\n$/, ''));
      }),
    );
  });

  test('with any content give lines or an error with an explanation', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (bytes, isPacked) => {
        const file = join(folder, isPacked ? 'b.gz' : 'b.log');
        const whole = isPacked ? gzipSync(bytes) : bytes;
        // Only one byte of the compressed data is changed, so that decompression gets past the start.
        if (isPacked) whole[bytes.length % whole.length] ^= 1;
        writeFileSync(file, whole);
        try {
          for await (const lines of linesOf(file, () => {}))
            for (const text of lines) expect(text).not.toContain('\n');
        } catch (error) {
          expect((error as Error).message).not.toBe('');
          expect(isPacked).toBe(true);
        }
      }),
    );
  });
});

test('any text is parsed as a duration or gives a UsageError that quotes it', () => {
  const text = fc.oneof(
    anyText,
    fc
      .array(fc.constantFrom(...'0159.- '.split(''), 'ms', 's', 'm', 'h', 'd'))
      .map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (words) => {
      try {
        const span = durationOf('--for', words);
        expect(span > 0 && span < Infinity).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
        expect((error as Error).message).toContain('--for');
      }
    }),
    { numRuns: 500 },
  );
});
