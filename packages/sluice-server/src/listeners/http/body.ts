/** Reads a JSON body of limited size. */
import type { IncomingMessage } from 'node:http';
import { HttpProblem } from './reply.ts';

export async function readJson(request: IncomingMessage, most: number): Promise<unknown> {
  const text = await readText(request, most);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HttpProblem('bad-request', `the body is not valid JSON: ${(error as Error).message}`);
  }
}

function readText(request: IncomingMessage, most: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const tooLarge = () =>
      // The rest of the body is not read, so the connection cannot be reused.
      reject(
        new HttpProblem('too-large', `the body must have at most ${most} bytes`, {}, [
          ['Connection', 'close'],
        ]),
      );
    if (Number(request.headers['content-length']) > most) return tooLarge();
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > most) {
        request.pause();
        tooLarge();
      } else chunks.push(chunk);
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('error', () => reject(new HttpProblem('bad-request', 'the body is incomplete')));
  });
}
