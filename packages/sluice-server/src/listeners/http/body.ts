/** Reads a JSON body of limited size. */
import type { IncomingMessage } from 'node:http';
import { duplicateMember } from './duplicate-members.ts';
import { HttpProblem } from './reply.ts';

/** Calls either `done` or `fail`, once. Uses callbacks, because a promise costs more than a decision in memory. */
export function readJson(
  request: IncomingMessage,
  most: number,
  done: (body: unknown) => void,
  fail: (problem: HttpProblem) => void,
): void {
  let first: Buffer | undefined;
  const others: Buffer[] = [];
  let size = 0;
  let isOver = false;

  function reject(problem: HttpProblem): void {
    if (isOver) return;
    isOver = true;
    fail(problem);
  }

  if (Number(request.headers['content-length']) > most) {
    reject(tooLarge(most));
    return;
  }
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > most) {
      request.pause();
      reject(tooLarge(most));
    } else if (first === undefined) first = chunk;
    else others.push(chunk);
  });
  request.on('error', () => reject(new HttpProblem('bad-request', 'the body is incomplete')));
  request.on('end', () => {
    if (isOver) return;
    let body: unknown;
    const text = textOf(first, others);
    try {
      body = JSON.parse(text);
    } catch (error) {
      const reason = (error as Error).message;
      reject(new HttpProblem('bad-request', `the body is not valid JSON: ${reason}`));
      return;
    }
    const twice = duplicateMember(text, body);
    if (twice !== undefined) {
      const name = JSON.stringify(twice.slice(0, 100));
      reject(new HttpProblem('bad-request', `the body contains the member ${name} twice in one object`));
      return;
    }
    isOver = true;
    done(body);
  });
}

/** Joins the chunks of a body. Most bodies arrive in one chunk, which is not copied. */
function textOf(first: Buffer | undefined, others: readonly Buffer[]): string {
  if (first === undefined) return '';
  return (others.length === 0 ? first : Buffer.concat([first, ...others])).toString('utf8');
}

/** The rest of the body is not read, so the connection cannot be reused. */
function tooLarge(most: number): HttpProblem {
  const headers = [['Connection', 'close']] as const;
  return new HttpProblem('too-large', `the body must have at most ${most} bytes`, {}, headers);
}
