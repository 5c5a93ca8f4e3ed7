/**
 * Streams the lines of a large file as arrays, one array per chunk, because a promise per line would cost more than handling the
 * line.
 */
import { createReadStream, statSync } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { UsageError } from '../../config/usage-error.ts';

const CHUNK = 256 * 1024;
/** Maximum length of a line, in characters. A file with a longer line is rejected, because it is probably not a log. */
const MAX_LINE = 1024 * 1024;

/**
 * Streams the lines of a file, or of standard input for '-'. Files ending in .gz are decompressed. `onRead` receives the fraction
 * of the file that has been read so far.
 */
export async function* linesOf(file: string, onRead: (share: number) => void): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of open(file, onRead)) {
    const lines = (rest + decoder.write(chunk as Buffer)).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE)
      throw new UsageError(`${file} is not a log: it has a line of more than ${MAX_LINE} characters`);
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
  // The callback of `pipeline` ignores errors, because the code that reads the stream receives them.
  return file.endsWith('.gz') ? pipeline(stream, createGunzip({ chunkSize: CHUNK }), () => {}) : stream;
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Returns a function that draws a progress bar for a fraction from 0 to 1, and erases the bar at 1. */
export function progressBar(write: (text: string) => void): (share: number) => void {
  let shown = 0;
  return (share) => {
    const percent = Math.min(100, Math.floor(share * 100));
    if (percent === shown) return;
    shown = percent;
    write(`\r${'█'.repeat(percent / 4).padEnd(25, '░')} ${percent} %${percent === 100 ? '\r\u001b[K' : ''}`);
  };
}
