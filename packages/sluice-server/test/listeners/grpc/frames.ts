/** Encodes and decodes HTTP/2 frames, for test clients that send frames that no HTTP/2 library would send. */

export function frame(type: number, flags: number, stream: number, body: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/** Encodes a header in HPACK, without a dynamic table or Huffman codes. */
export function header(name: string, value: string): Buffer {
  const [first, second] = [Buffer.from(name), Buffer.from(value)];
  return Buffer.concat([Buffer.from([0, first.length]), first, Buffer.from([second.length]), second]);
}

/** What a client sends first: the preface and empty settings. */
export const PREFACE: Buffer = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(4, 0, 0, Buffer.alloc(0)),
]);

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly body: Buffer;
}

/** The frames in a chunk, which must not end within a frame. */
export function framesIn(chunk: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < chunk.length; ) {
    const end = at + 9 + chunk.readUIntBE(at, 3);
    frames.push({ type: chunk[at + 3], flags: chunk[at + 4], body: chunk.subarray(at + 9, end) });
    at = end;
  }
  return frames;
}
