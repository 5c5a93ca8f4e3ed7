/** Replies in RESP 2 and 3, as text of one character per byte. */

export type Protocol = 2 | 3;

export function integer(value: number): string {
  return `:${value}\r\n`;
}

export function simple(text: string): string {
  return `+${text}\r\n`;
}

export const OK: string = simple('OK');

/** One line, whatever it quotes. */
export function failure(code: string, message: string): string {
  return `-${code} ${message.slice(0, 500).replace(/[\r\n]+/g, ' ')}\r\n`;
}

/** Bytes as they are. */
export function bulk(bytes: string): string {
  return `$${bytes.length}\r\n${bytes}\r\n`;
}

/** Text for people: a type of its own in RESP 3. */
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

/** RESP 2 has no maps: names and values by turns. */
export function map(
  protocol: Protocol,
  members: readonly (readonly [name: string, value: string])[],
): string {
  const head = protocol === 2 ? `*${members.length * 2}` : `%${members.length}`;
  return `${head}\r\n${members.map(([name, value]) => bulk(name) + value).join('')}`;
}

/** Any text as the bytes of its UTF-8. */
export function utf8(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
