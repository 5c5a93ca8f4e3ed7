/**
 * Fuzz tests of untrusted text in requests and responses. The text must not let a client impersonate another client, and must not
 * break out of a response field.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLimiter, memory, SluiceError } from '../../src/index.ts';
import { clientAddress, rateLimitHeaders, type TrustProxy } from '../../src/http/index.ts';
import { parseAddress } from '../../src/http/ip.ts';
import { manualClock } from '../../src/testing/index.ts';

const SIGNS = [
  ...',:.[]%/ "=;-\t'.split(''),
  '10.0.0.1',
  '::1',
  'ffff',
  '1',
  '080',
  '300',
  'for=',
  'é',
  '\0',
];
const signs = fc.array(fc.constantFrom(...SIGNS), { maxLength: 12 }).map((parts) => parts.join(''));
const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), signs);

describe('addresses', () => {
  const TRUST: readonly (readonly [string, TrustProxy])[] = [
    ['x-forwarded-for', 1],
    ['x-forwarded-for', 3],
    ['x-forwarded-for', 'private'],
    ['x-forwarded-for', ['10.0.0.0/8', '::/0']],
    ['cf-connecting-ip', 'cloudflare'],
    ['fly-client-ip', 'fly'],
    ['x-vercel-forwarded-for', 'vercel'],
    ['x-real-ip', 'nginx'],
    ['x-client', { header: 'X-Client', from: ['10.0.0.0/8'] }],
  ];

  const entry = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.ipV4().map((address) => `${address}:80`),
    signs,
  );
  const chain = fc.array(entry, { maxLength: 5 }).map((entries) => entries.join(', '));

  test.each(TRUST)(
    '%s with trustProxy %j: clientAddress always returns an address, whatever the header contains',
    (header, trustProxy) => {
      let others = 0;
      fc.assert(
        fc.property(fc.oneof(anyText, chain), fc.boolean(), (text, isWeb) => {
          const headers = isWeb
            ? { get: (name: string) => (name === header ? text : null) }
            : { [header]: text };
          const client = clientAddress({ headers, remoteAddress: '10.9.9.9' }, { trustProxy });
          expect(client).toMatch(/^([\d.]+|[\da-f:]+\/56)$/);
          if (client !== '10.9.9.9') others++;
        }),
        { numRuns: 1000 },
      );
      expect(others).toBeGreaterThan(20);
    },
  );

  test('all spellings of an address count as the same client', () => {
    const groups = fc.array(fc.constantFrom(0, 0, 0, 1, 0xab, 0xffff, 0x2001), {
      minLength: 8,
      maxLength: 8,
    });
    const spelling = fc.record({
      padded: fc.boolean(),
      loud: fc.boolean(),
      dotted: fc.boolean(),
      around: fc.constantFrom('@', '[@]', '[@]:443', ' @ ', '@%eth0', '[@%1]'),
      zeros: fc.boolean(),
    });
    const spelt = (
      address: readonly number[],
      how: typeof spelling extends fc.Arbitrary<infer T> ? T : never,
    ) => {
      const words = address.map((group) => group.toString(16).padStart(how.padded ? 4 : 1, '0'));
      if (how.dotted) {
        const bytes = address.slice(6).flatMap((group) => [group >> 8, group & 255]);
        words.splice(6, 2, bytes.join('.'));
      }
      // Abbreviates the first run of zeros to `::`.
      const text = how.zeros ? words.join(':').replace(/(^|:)(0+:)*0+(:|$)/, '::') : words.join(':');
      return how.around.replace('@', how.loud ? text.toUpperCase() : text);
    };
    const asked = (text: string) =>
      clientAddress(
        { headers: { 'x-forwarded-for': text }, remoteAddress: '10.0.0.1' },
        { trustProxy: 1, ipv6Prefix: 128 },
      );
    const mapped = groups.map((all) => [0, 0, 0, 0, 0, 0xffff, ...all.slice(6)]);
    fc.assert(
      fc.property(fc.oneof(groups, mapped), spelling, spelling, (address, one, other) => {
        expect(asked(spelt(address, one))).toBe(asked(spelt(address, other)));
        expect(asked(spelt(address, one))).not.toBe('10.0.0.1');
      }),
      { numRuns: 1000 },
    );
  });

  test('any text in trustProxy is parsed as ranges or rejected', () => {
    const list = fc.array(
      fc.oneof(fc.constantFrom('private', '10.0.0.0/8', '::/0', '10.0.0.0/33', ''), anyText),
    );
    let good = 0;
    fc.assert(
      fc.property(fc.oneof(list, anyText), (trustProxy) => {
        try {
          clientAddress({ headers: {}, remoteAddress: '10.0.0.1' }, { trustProxy });
          good++;
        } catch (error) {
          expect(error).toBeInstanceOf(SluiceError);
          expect((error as SluiceError).code).toBe('ERR_TRUST_PROXY');
        }
      }),
      { numRuns: 500 },
    );
    expect(good).toBeGreaterThan(20);
  });

  test('an address with other text after it is invalid, unless the text is a zone or continues the address', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), signs, (address, noise) => {
        fc.pre(noise.trim() !== '');
        const found = parseAddress(`${address}${noise}`);
        // The text may continue the address.
        if (found !== undefined) expect(noise).toMatch(/^[%:.\da-f]/);
      }),
    );
  });
});

describe('fields of a response', () => {
  const item = String.raw`"(?:[ !#-[\]-~]|\\["\\])*"(?:;[qwrt]=\d{1,15})+(?:;pk=:[A-Za-z0-9+/]*={0,2}:)?`;
  const field = new RegExp(`^${item}(?:,${item})*$`);
  const name = fc.oneof(
    anyText,
    fc.constantFrom('a";q=1', 'a\r\nSet-Cookie: b', '\\', '"', '\ud83d', '__proto__'),
  );

  test('no policy name or partition key can break out of its field', () => {
    fc.assert(
      fc.property(name, name, name, (one, other, partitionKey) => {
        const policies = Object.fromEntries([one, other].map((policy) => [policy, '5/min']));
        const limiter = createLimiter(policies, { store: memory({ clock: manualClock() }) });
        for (const style of ['draft-11', 'legacy', 'github', 'sharkey'] as const)
          for (const [key, value] of rateLimitHeaders(limiter.take('k', 4), { style, partitionKey })) {
            expect(key).toMatch(/^[A-Za-z-]+$/);
            expect(value).toMatch(style === 'draft-11' && key !== 'Retry-After' ? field : /^[\d.]+$/);
          }
      }),
      { numRuns: 1000 },
    );
  });

  test('a partition key of a megabyte is encoded like a short one', () => {
    const key = 'é'.repeat(500_000);
    const decision = createLimiter('5/min').take('k');
    const [[, value]] = rateLimitHeaders(decision, { partitionKey: key });
    const told = /;pk=:(.*):$/.exec(value)?.[1];
    expect(Buffer.from(told ?? '', 'base64').toString() === key).toBe(true);
  });
});
