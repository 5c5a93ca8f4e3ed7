/**
 * Compare-and-swap with a memjs client. The client's own methods ignore versions, so this file builds the requests of Memcached's
 * binary protocol, and memjs sends them.
 */
import { type Client, type Connection, unavailable } from './connection.ts';

interface Response {
  readonly header: { readonly status: number; readonly cas: Uint8Array };
  readonly val: Uint8Array | undefined;
}

interface Memjs {
  readonly seq: number;
  incrSeq(): void;
  perform(
    key: string,
    request: Uint8Array,
    seq: number,
    reply: (error: unknown, response: Response) => void,
    retries: number,
  ): void;
}

const [GET, SET, ADD] = [0, 1, 2];
const [WRITTEN, NOT_FOUND, EXISTS, NOT_STORED] = [0, 1, 2, 5];
const OUT_OF_MEMORY = 0x82;
const HEADER = 24;

export function memjsConnection(client: Client): Connection {
  const memjs = client as unknown as Memjs;

  function ask(
    opcode: number,
    key: string,
    extras: Uint8Array,
    text: string,
    version?: string,
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      memjs.incrSeq();
      const { seq } = memjs;
      const request = requestOf(opcode, key, extras, text, seq, version);
      // The last argument allows only one attempt. If the reply to a write were lost and memjs sent the write again, the server
      // would report a conflict, and the store would charge the hit a second time.
      memjs.perform(
        key,
        request,
        seq,
        (error, response) => {
          if (error === undefined || error === null) resolve(response);
          else reject(unavailable(error));
        },
        1,
      );
    });
  }

  return {
    async get(key) {
      const { header, val } = await ask(GET, key, new Uint8Array(), '');
      if (header.status === NOT_FOUND) return undefined;
      if (header.status !== WRITTEN) throw refused(header.status, val);
      return { text: textOf(val), version: hexOf(header.cas) };
    },
    async put(key, text, version, expiry) {
      const extras = new Uint8Array(8);
      new DataView(extras.buffer).setUint32(4, expiry);
      const { header, val } = await ask(version === undefined ? ADD : SET, key, extras, text, version);
      if (header.status === WRITTEN) return true;
      if ([NOT_FOUND, EXISTS, NOT_STORED].includes(header.status)) return false;
      throw refused(header.status, val);
    },
  };
}

function refused(status: number, words: Uint8Array | undefined): Error {
  return unavailable(
    new Error(status === OUT_OF_MEMORY ? 'out of memory' : `status ${status}: ${textOf(words)}`),
  );
}

/** A request consists of a header of 24 bytes, the extras, the key and the value. Keys and values are ASCII. */
function requestOf(
  opcode: number,
  key: string,
  extras: Uint8Array,
  text: string,
  seq: number,
  version = '',
): Uint8Array {
  const body = extras.length + key.length + text.length;
  const request = new Uint8Array(HEADER + body);
  const view = new DataView(request.buffer);
  view.setUint8(0, 0x80);
  view.setUint8(1, opcode);
  view.setUint16(2, key.length);
  view.setUint8(4, extras.length);
  view.setUint32(8, body);
  view.setUint32(12, seq);
  for (let i = 0; i < version.length; i += 2)
    request[16 + i / 2] = Number.parseInt(version.slice(i, i + 2), 16);
  request.set(extras, HEADER);
  const encoder = new TextEncoder();
  request.set(encoder.encode(key), HEADER + extras.length);
  request.set(encoder.encode(text), HEADER + extras.length + key.length);
  return request;
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function textOf(bytes: Uint8Array | undefined): string {
  return String.fromCharCode(...(bytes ?? []));
}
