/** Lines of what may be large: a list of them for each chunk, since a promise a line costs more than most lines do. */
import { createReadStream, statSync } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { UsageError } from '../../config/usage-error.ts';

const CHUNK = 256 * 1024;
/** Characters. What has no end of line for so long is no log. */
const MAX_LINE = 1024 * 1024;

/** '-' is what comes in; what ends in .gz is unpacked. `onRead` hears which share of the file has been read. */
export async function* linesOf(file: string, onRead: (share: number) => void): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of open(file, onRead)) {
    const lines = (rest + decoder.write(chunk as Buffer)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE)
      throw new UsageError(`${file} is no log: it has a line of more than ${MAX_LINE} characters`);
    yield lines;
  }
  rest += decoder.end();
  if (rest !== '') yield [rest];
}

function open(file: string, onRead: (share: number) => void): Readable {
  if (file === '-') return process.stdin;
  const size = Math.max(1, sizeOf(file));
  const stream = createReadStream(file, { highWaterMark: CHUNK });
  stream.on('data', () => onRead(stream.bytesRead / size));
  // Its error comes out of what is read.
  return file.endsWith('.gz') ? pipeline(stream, createGunzip({ chunkSize: CHUNK }), () => {}) : stream;
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** A bar that grows, and is gone in the end. */
export function progressBar(write: (text: string) => void): (share: number) => void {
  let shown = 0;
  return (share) => {
    const percent = Math.min(100, Math.floor(share * 100));
    if (percent === shown) return;
    shown = percent;
    write(`\r${'█'.repeat(percent / 4).padEnd(25, '░')} ${percent} %${percent === 100 ? '\r\u001b[K' : ''}`);
  };
}
