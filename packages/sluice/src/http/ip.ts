/** An IP address as eight groups of 16 bits. An IPv4 address is stored as its IPv4-mapped IPv6 address. */
export type Address = readonly number[];

/** A CIDR range, which contains all addresses whose first `bits` bits equal those of `address`. */
export interface Range {
  readonly address: Address;
  readonly bits: number;
}

/** Parses an address. Returns undefined for any other text. A zone (as in `fe80::1%eth0`) is dropped. */
export function parseAddress(text: string): Address | undefined {
  if (!text.includes(':')) {
    const v4 = parseV4(text);
    return v4 && [0, 0, 0, 0, 0, 0xffff, ...v4];
  }
  const [bare, zone, more] = text.split('%');
  if (zone === '' || more !== undefined) return undefined;
  const halves = bare.split('::');
  if (halves.length > 2) return undefined;
  const head = groupsOf(halves[0], halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1], true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined;
  return [...head, ...Array.from({ length: missing }, () => 0), ...tail];
}

/** Parses a range such as `10.0.0.0/8` or `2001:db8::/32`, or a single address. */
export function parseRange(text: string): Range | undefined {
  const [start, length, more] = text.split('/');
  const address = parseAddress(start);
  if (address === undefined || more !== undefined) return undefined;
  const size = start.includes(':') ? 128 : 32;
  if (length === undefined) return { address, bits: 128 };
  const bits = /^\d{1,3}$/.test(length) ? Number(length) : Infinity;
  return bits > size ? undefined : { address, bits: 128 - size + bits };
}

export function contains({ address, bits }: Range, other: Address): boolean {
  for (let i = 0; i * 16 < bits; i++) {
    const unused = Math.max(0, (i + 1) * 16 - bits);
    if (address[i] >> unused !== other[i] >> unused) return false;
  }
  return true;
}

const MAPPED: Range = { address: [0, 0, 0, 0, 0, 0xffff, 0, 0], bits: 96 };
/** The well-known prefix of NAT64 (RFC 6052). A NAT64 gateway maps all of its IPv4 clients to this one /96. */
const NAT64: Range = { address: [0x64, 0xff9b, 0, 0, 0, 0, 0, 0], bits: 96 };
/** The prefix of 6to4 (RFC 3056). The owner of one IPv4 address holds the whole /48 that embeds it. */
const SIX_TO_FOUR: Range = { address: [0x2002, 0, 0, 0, 0, 0, 0, 0], bits: 16 };

/**
 * Returns the IPv4 address that an IPv6 address embeds (IPv4-mapped, NAT64 or 6to4), or undefined. Use it only to distinguish
 * clients. Trusted proxies must be compared by the address itself, because otherwise `2002:0a00:…` would match 10.0.0.0/8.
 */
export function embeddedV4(address: Address): string | undefined {
  if (contains(MAPPED, address) || contains(NAT64, address)) return formatV4(address[6], address[7]);
  return contains(SIX_TO_FOUR, address) ? formatV4(address[1], address[2]) : undefined;
}

function formatV4(high: number, low: number): string {
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** Formats the first `bits` bits of an address. All addresses that share these bits get the same text. */
export function formatPrefix(address: Address, bits: number): string {
  const kept = address.map((group, i) => {
    const unused = Math.min(16, Math.max(0, (i + 1) * 16 - bits));
    return ((group >> unused) << unused).toString(16);
  });
  if (bits === 128) return kept.join(':');
  return `${kept.slice(0, Math.ceil(bits / 16)).join(':')}::/${bits}`;
}

function groupsOf(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [i, part] of parts.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16));
    else {
      const v4 = mayEndInV4 && i === parts.length - 1 ? parseV4(part) : undefined;
      if (v4 === undefined) return undefined;
      groups.push(...v4);
    }
  }
  return groups;
}

/** Accepts decimal numbers only. Leading zeros are rejected, because some parsers read them as octal. */
function parseV4(text: string): [high: number, low: number] | undefined {
  const bytes = text.split('.');
  if (bytes.length !== 4 || !bytes.every((byte) => /^(0|[1-9]\d{0,2})$/.test(byte) && Number(byte) < 256))
    return undefined;
  const [a, b, c, d] = bytes.map(Number);
  return [a * 256 + b, c * 256 + d];
}
