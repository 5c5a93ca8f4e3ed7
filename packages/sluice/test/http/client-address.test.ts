import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientAddress, type ClientAddressOptions, key, type RequestLike } from '../../src/http/index.ts';
import { contains, parseAddress, parseRange } from '../../src/http/ip.ts';

const from = (
  remoteAddress: string | undefined,
  headers: Record<string, string | string[]> = {},
): RequestLike => ({
  headers,
  socket: { remoteAddress },
});

const forwarded = (connection: string, chain: string, options: ClientAddressOptions) =>
  clientAddress(from(connection, { 'x-forwarded-for': chain }), options);

describe('clientAddress without a trusted proxy', () => {
  it('uses the address of the connection, whatever the client sends', () => {
    expect(forwarded('203.0.113.7', '1.2.3.4', {})).toBe('203.0.113.7');
    expect(
      clientAddress(from('203.0.113.7', { 'cf-connecting-ip': '1.2.3.4', 'x-real-ip': '1.2.3.4' })),
    ).toBe('203.0.113.7');
  });

  it('treats every spelling of an IPv4-mapped address as the IPv4 client', () => {
    for (const text of [
      '203.0.113.7',
      '::ffff:203.0.113.7',
      '::FFFF:203.0.113.7',
      '::ffff:cb00:7107',
      '0:0:0:0:0:ffff:cb00:7107',
    ])
      expect(clientAddress(from(text))).toBe('203.0.113.7');
  });

  it('distinguishes IPv4 clients behind NAT64, and treats each like its plain IPv4 address', () => {
    for (const text of ['64:ff9b::203.0.113.7', '64:ff9b::cb00:7107', '64:FF9B:0:0:0:0:203.0.113.7'])
      expect(clientAddress(from(text), { ipv6Prefix: 128 })).toBe('203.0.113.7');
    expect(clientAddress(from('64:ff9b::203.0.113.8'))).toBe('203.0.113.8');
    // The local-use prefix of RFC 8215 does not define the position of the IPv4 address.
    expect(clientAddress(from('64:ff9b:1::203.0.113.7'))).toBe('64:ff9b:1:0::/56');
  });

  it('counts a whole 6to4 site, which is a /48, as the IPv4 address that owns it', () => {
    expect(clientAddress(from('2002:cb00:7107::1'))).toBe('203.0.113.7');
    expect(clientAddress(from('2002:cb00:7107:ff00::1'))).toBe('203.0.113.7');
    expect(clientAddress(from('2002:cb00:7108::1'))).toBe('203.0.113.8');
  });

  it('does not trust an IPv6 address merely because it embeds a trusted IPv4 address', () => {
    for (const text of ['64:ff9b::10.0.0.1', '2002:a00:1::1'])
      expect(forwarded(text, '198.51.100.1', { trustProxy: ['private', 'loopback'] })).toBe('10.0.0.1');
    expect(forwarded('::ffff:10.0.0.1', '198.51.100.1', { trustProxy: 'private' })).toBe('198.51.100.1');
  });

  it('treats all addresses of an IPv6 prefix as one client', () => {
    const of = (text: string, ipv6Prefix?: number) => clientAddress(from(text), { ipv6Prefix });
    expect(of('2001:db8:0:1ff::1')).toBe('2001:db8:0:100::/56');
    expect(of('2001:db8:0:100:ffff:ffff:ffff:ffff')).toBe('2001:db8:0:100::/56');
    expect(of('2001:db8:0:200::1')).toBe('2001:db8:0:200::/56');
    expect(of('2001:db8::1', 128)).toBe('2001:db8:0:0:0:0:0:1');
    expect(of('2001:db8:ffff::1', 32)).toBe('2001:db8::/32');
    expect(of('2001:db8:ffff::1', 33)).toBe('2001:db8:8000::/33');
    expect(of('fe80::1%eth0', 64)).toBe('fe80:0:0:0::/64');
    // Ends like an IPv4-mapped address, but is not one.
    expect(of('2001:db8::ffff:203.0.113.7')).toBe('2001:db8:0:0::/56');
  });

  it('gives two addresses the same key if and only if they share the prefix', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV6(), fc.integer({ min: 1, max: 128 }), (a, b, ipv6Prefix) => {
        const [x, y] = [a, b].map((text) => clientAddress(from(text), { ipv6Prefix }));
        const first = parseAddress(a);
        const second = parseAddress(b);
        if (first === undefined || second === undefined) throw new Error(`not parsed: ${a} ${b}`);
        if (embedsV4(a) || embedsV4(b)) return;
        expect(x === y).toBe(contains({ address: first, bits: ipv6Prefix }, second));
      }),
    );
  });

  it("returns 'unknown' for a connection without an address, and throws if there is no connection", () => {
    expect(clientAddress(from(undefined))).toBe('unknown');
    expect(() => clientAddress({ headers: new Headers() })).toThrow(
      expect.objectContaining({ code: 'ERR_ADDRESS' }),
    );
  });
});

describe('clientAddress behind proxies', () => {
  it('skips the given number of proxies and ignores spoofed entries before them', () => {
    expect(forwarded('10.0.0.1', '6.6.6.6, 203.0.113.7', { trustProxy: 1 })).toBe('203.0.113.7');
    expect(forwarded('10.0.0.1', '6.6.6.6, 203.0.113.7, 10.0.0.2', { trustProxy: 2 })).toBe('203.0.113.7');
    expect(forwarded('10.0.0.1', '203.0.113.7', { trustProxy: 2 })).toBe('203.0.113.7');
    expect(forwarded('10.0.0.1', '203.0.113.7', { trustProxy: 0 })).toBe('10.0.0.1');
    expect(forwarded('10.0.0.1', '', { trustProxy: 1 })).toBe('10.0.0.1');
  });

  it('returns the first address, from the right, that is outside the trusted ranges', () => {
    const trustProxy = ['10.0.0.0/8', '2001:db8::/32'];
    expect(forwarded('10.0.0.1', '6.6.6.6, 203.0.113.7, 10.9.9.9', { trustProxy })).toBe('203.0.113.7');
    expect(forwarded('203.0.113.9', '6.6.6.6', { trustProxy })).toBe('203.0.113.9');
    expect(forwarded('2001:db8::5', '203.0.113.7', { trustProxy })).toBe('203.0.113.7');
    expect(forwarded('::ffff:10.0.0.1', '203.0.113.7', { trustProxy })).toBe('203.0.113.7');
    expect(forwarded('10.0.0.1', '10.0.0.2, 10.0.0.3', { trustProxy })).toBe('10.0.0.2');
    expect(forwarded('127.0.0.1', '203.0.113.7', { trustProxy: 'loopback, private' })).toBe('203.0.113.7');
  });

  it('returns the same address whatever the client prepends to the header', () => {
    const honest = '203.0.113.7, 10.0.0.2';
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom<ClientAddressOptions>({ trustProxy: 2 }, { trustProxy: '10.0.0.0/8' }),
        (spoof, options) => {
          expect(forwarded('10.0.0.1', `${spoof}, ${honest}`, options)).toBe('203.0.113.7');
        },
      ),
    );
  });

  it('stops at an entry that is not an address, and drops ports', () => {
    expect(forwarded('10.0.0.1', 'unknown', { trustProxy: 1 })).toBe('10.0.0.1');
    expect(forwarded('10.0.0.1', '203.0.113.7:4711', { trustProxy: 1 })).toBe('203.0.113.7');
    expect(forwarded('10.0.0.1', '[2001:db8::1]:4711', { trustProxy: 1 })).toBe('2001:db8:0:0::/56');
  });

  it('joins the values of a header that was sent twice', () => {
    const request = from('10.0.0.1', { 'x-forwarded-for': ['6.6.6.6', '203.0.113.7'] });
    expect(clientAddress(request, { trustProxy: 1 })).toBe('203.0.113.7');
  });

  it("reads the header in which each platform sends the client's address", () => {
    const headers = {
      'cf-connecting-ip': '203.0.113.1',
      'fly-client-ip': '203.0.113.2',
      'x-vercel-forwarded-for': '203.0.113.3',
      'x-real-ip': '203.0.113.4',
      'x-mine': 'nonsense, 203.0.113.5',
      'x-forwarded-for': '6.6.6.6',
    };
    const of = (trustProxy: ClientAddressOptions['trustProxy'], connection = '127.0.0.1') =>
      clientAddress(from(connection, headers), { trustProxy });
    expect(of('cloudflare')).toBe('203.0.113.1');
    expect(of('fly')).toBe('203.0.113.2');
    expect(of('vercel')).toBe('203.0.113.3');
    expect(of('nginx')).toBe('203.0.113.4');
    expect(of('nginx', '198.51.100.1')).toBe('198.51.100.1');
    expect(of({ header: 'X-Mine' })).toBe('203.0.113.5');
    expect(of({ header: 'X-None' })).toBe('127.0.0.1');
    expect(clientAddress({ headers: new Headers(headers) }, { trustProxy: 'cloudflare' })).toBe(
      '203.0.113.1',
    );
  });

  describe.each<[string, ClientAddressOptions['trustProxy']]>([
    ['a header from trusted peers only', { header: 'X-Real-IP', from: ['10.0.0.0/8'] }],
    ['a chain of trusted peers', '10.0.0.0/8'],
  ])('with %s', (_, trustProxy) => {
    const headers = { 'x-real-ip': '203.0.113.4', 'x-forwarded-for': '203.0.113.4' };
    const seenFrom = (connection: string | undefined) =>
      clientAddress(from(connection, headers), { trustProxy });

    it('uses the header of a trusted peer', () => {
      expect(seenFrom('10.1.2.3')).toBe('203.0.113.4');
    });

    it('ignores the header of a peer whose address cannot be parsed', () => {
      for (const peer of [
        '10.1.2',
        '10.1.2.3.4',
        'localhost',
        'unix:/run/app.sock',
        '10.1.2.3:',
        '[10.1.2.3',
      ])
        expect(seenFrom(peer)).toBe(peer);
      expect(seenFrom('')).toBe('');
    });

    it('uses the header of a peer without an address, which is connected over a Unix socket', () => {
      expect(seenFrom(undefined)).toBe('203.0.113.4');
    });

    it('uses the address of the peer if the header is missing', () => {
      expect(clientAddress(from('10.1.2.3'), { trustProxy })).toBe('10.1.2.3');
      const request = { headers: new Headers(), remoteAddress: '10.1.2.3' };
      expect(clientAddress(request, { trustProxy })).toBe('10.1.2.3');
    });
  });

  it("accepts 'private' and 'loopback' as names of address ranges", () => {
    for (const [peer, range] of [
      ['10.1.2.3', 'private'],
      ['172.31.255.255', 'private'],
      ['192.168.1.1', 'private'],
      ['169.254.0.1', 'private'],
      ['fd00::1', 'private'],
      ['fe80::1', 'private'],
      ['127.0.0.53', 'loopback'],
      ['::1', 'loopback'],
    ] as const) {
      expect(forwarded(peer, '203.0.113.7', { trustProxy: range })).toBe('203.0.113.7');
      const other = range === 'private' ? 'loopback' : 'private';
      expect(forwarded(peer, '203.0.113.7', { trustProxy: other })).not.toBe('203.0.113.7');
    }
  });

  it('drops the port of an address, but not other text that looks like a port', () => {
    const of = (text: string) => forwarded('10.0.0.1', text, { trustProxy: 1 });
    expect(of('[2001:db8::1]')).toBe('2001:db8:0:0::/56');
    expect(of('[203.0.113.7]:80')).toBe('203.0.113.7');
    // The last part is not a port.
    expect(of('2001:db8:0:100:1:2:3:4')).toBe('2001:db8:0:100::/56');
    for (const text of [
      'x[2001:db8::1]',
      '[2001:db8::1]x',
      'x203.0.113.7:80',
      '203.0.113.7:80x',
      '203.0.113.7:',
    ])
      expect(of(text)).toBe('10.0.0.1');
  });

  it('rejects invalid trustProxy values, and the error names the option', () => {
    for (const trustProxy of [
      '10.0.0.0/33',
      'everyone',
      -1,
      1.5,
      Number.NaN,
      true,
      {},
      null,
      [1],
      ['10.0.0.0/8', 1],
      '1.2.3',
      '::/129',
      '10.0.0.0/8/8',
      { header: 'x-real-ip', from: 5 },
      { header: 'x-real-ip', from: [5] },
    ])
      expect(() => clientAddress(from('::1'), { trustProxy } as ClientAddressOptions)).toThrow(
        expect.objectContaining({ code: 'ERR_TRUST_PROXY' }),
      );
    for (const ipv6Prefix of [0, 129, 1.5, Number.NaN])
      expect(() => clientAddress(from('::1'), { ipv6Prefix })).toThrow(
        expect.objectContaining({ code: 'ERR_NUMBER' }),
      );
  });
});

describe('parseAddress and contains', () => {
  const almost = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.string({ unit: fc.constantFrom(...'0123456789abcdef:.%'.split('')) }),
    fc.ipV6().map((text) => text.replace(/[:.]/, '')),
    fc.ipV4Extended(),
  );

  it('accept exactly the addresses that Node accepts', () => {
    fc.assert(
      fc.property(almost, (text) => {
        expect(parseAddress(text) !== undefined, text).toBe(isIP(text) !== 0);
      }),
      { numRuns: 1000, examples: [['::%0%'], ['::%'], ['::%0']] },
    );
  });

  it('agree with Node on which addresses are in a range', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.ipV4(), fc.ipV6()),
        fc.oneof(fc.ipV4(), fc.ipV6()),
        fc.nat(128),
        (start, other, length) => {
          fc.pre(isIPv4(start) === isIPv4(other) && !embedsV4(start) && !embedsV4(other));
          const bits = isIPv4(start) ? length % 33 : length;
          const kind = isIPv6(start) ? 'ipv6' : 'ipv4';
          const list = new BlockList();
          list.addSubnet(start, bits, kind);
          const range = parseRange(`${start}/${bits}`);
          const address = parseAddress(other);
          if (range === undefined || address === undefined)
            throw new Error(`not parsed: ${start}/${bits} ${other}`);
          expect(contains(range, address)).toBe(list.check(other, kind));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('key()', () => {
  it('returns different keys if any part differs', () => {
    const parts = fc.array(fc.string({ unit: fc.constantFrom('a', ':', '\\', '"', '') }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        expect(key(...a) === key(...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { numRuns: 1000 },
    );
  });

  it('returns readable keys', () => {
    expect(key('user', 42, 'route', 'login')).toBe('user:42:route:login');
  });

  it('throws if a part is missing', () => {
    for (const parts of [[], ['user', undefined], ['user', null], [{}]])
      expect(() => key(...(parts as string[]))).toThrow(expect.objectContaining({ code: 'ERR_KEY' }));
  });
});

/** Whether an IPv6 address embeds an IPv4 address, so that its key is not a prefix. */
function embedsV4(text: string): boolean {
  const address = parseAddress(text);
  const ranges = ['::ffff:0:0/96', '64:ff9b::/96', '2002::/16'].map(parseRange);
  return address !== undefined && isIPv6(text) && ranges.some((range) => range && contains(range, address));
}
