/** Encodes replies in RESP 2 and 3, as text with one character per byte. */

export type Protocol = 2 | 3;

export function integer(value: number): string {
  return `:${value}\r\n`;
}

export function simple(text: string): string {
  return `+${text}\r\n`;
}

export const OK: string = simple('OK');

/** Encodes an error reply. It must be a single line, so line breaks in the message are replaced. */
export function failure(code: string, message: string): string {
  return `-${code} ${message.slice(0, 500).replace(/[\r\n]+/g, ' ')}\r\n`;
}

/** Encodes a bulk string, which may contain any bytes. */
export function bulk(bytes: string): string {
  return `$${bytes.length}\r\n${bytes}\r\n`;
}

/** Encodes human-readable text, which has its own type in RESP 3. */
export function verbatim(protocol: Protocol, bytes: string): string {
  return protocol === 2 ? bulk(bytes) : `=${bytes.length + 4}\r\ntxt:${bytes}\r\n`;
}

export function nothing(protocol: Protocol): string {
  return protocol === 2 ? '$-1\r\n' : '_\r\n';
}

export function list(items: readonly string[]): string {
  return `*${items.length}\r\n${items.join('')}`;
}

export function set(protocol: Protocol, items: readonly string[]): string {
  return `${protocol === 2 ? '*' : '~'}${items.length}\r\n${items.join('')}`;
}

/** Encodes a map. RESP 2 has no maps and uses an array of alternating names and values. */
export function map(
  protocol: Protocol,
  members: readonly (readonly [name: string, value: string])[],
): string {
  const head = protocol === 2 ? `*${members.length * 2}` : `%${members.length}`;
  return `${head}\r\n${members.map(([name, value]) => bulk(name) + value).join('')}`;
}

/** Encodes text as UTF-8, with one character per byte. */
export function utf8(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
