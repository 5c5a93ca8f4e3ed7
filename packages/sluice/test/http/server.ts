/** A test server on a real socket that records its requests, and a clock that jumps to the next timer. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { manualClock, type ManualClock } from '../../src/testing/index.ts';

export const START = 1_700_000_000_000;
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Visit {
  readonly at: number;
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly body: string;
}

type Answer = readonly [status: number, headers?: Record<string, string | number>, body?: string];

type Handler = (visit: Visit, response: ServerResponse) => Answer | undefined;

export async function serve(
  handler: Handler,
  clock: { now(): number } = Date,
): Promise<{ url: string; visits: Visit[] }> {
  const visits: Visit[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = clock.now();
    let body = '';
    for await (const chunk of request.setEncoding('latin1')) body += chunk;
    const visit = { at, method: request.method, url: request.url, body };
    visits.push(visit);
    const told = handler(visit, response);
    if (told === undefined) return;
    const [status, headers = {}, text = ''] = told;
    response.sendDate = false;
    response.writeHead(status, headers).end(text);
  }
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, visits };
}

/** Returns the answers one after the other, then repeats the last answer. */
export function inTurn(...answers: Answer[]): () => Answer {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)];
}

/** A manual clock that advances to the next timer as soon as all I/O is done. */
export function swiftClock(): ManualClock {
  const clock = manualClock(START);
  return {
    ...clock,
    after(delay, wake) {
      const due = clock.now() + delay;
      const soon = setImmediate(() => {
        if (clock.now() < due) clock.set(due);
      });
      const cancel = clock.after(delay, wake);
      return () => {
        clearImmediate(soon);
        cancel();
      };
    },
  };
}
