/** Who may ask. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HttpProblem } from './reply.ts';

/** A bearer token that is one of those given. */
export function checkToken(request: IncomingMessage, tokens: readonly string[]): void {
  const shown = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (!isToken(shown, tokens))
    throw new HttpProblem('unauthorized', undefined, {}, [['WWW-Authenticate', 'Bearer realm="sluice"']]);
}

/** Takes as long for a wrong one as for a right one. */
export function isToken(shown: string, tokens: readonly string[]): boolean {
  const own = digest(shown);
  let isOne = false;
  for (const token of tokens) if (timingSafeEqual(own, digest(token))) isOne = true;
  return isOne && shown !== '';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** A page elsewhere could make a browser on this machine ask in its user's name; browsers say so. */
export function checkOrigin({ headers }: IncomingMessage): void {
  const { origin, host } = headers;
  if (origin === undefined) return;
  if (!URL.canParse(origin) || new URL(origin).host !== host) throw new HttpProblem('foreign-origin');
}
