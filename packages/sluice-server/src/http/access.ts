/** Who may ask. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type DoorOptions, isLoopback } from '../door.ts';
import { HttpProblem } from './reply.ts';

/** With an admin token, everything; with a token of the door, or where it asks for none, what is not for admins. */
export function checkAccess(
  { headers }: IncomingMessage,
  access: 'door' | 'admin',
  { tokens, adminTokens, address, tls }: DoorOptions,
): void {
  const shown = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  if (adminTokens !== undefined && isToken(shown, adminTokens())) return;
  if (access === 'admin' && adminTokens !== undefined) throw unauthorized('an admin token is needed');
  if (tokens !== undefined && !isToken(shown, tokens())) throw unauthorized();
  if (access !== 'admin' || tokens !== undefined || tls?.ca !== undefined) return;
  // Where nobody tells who they are, only those on this machine may reset and block.
  if (!isLoopback(address))
    throw new HttpProblem('forbidden', 'this server has no admin token, so nobody may reset or block');
  if (!OWN_NAME.test(headers.host ?? 'localhost'))
    throw new HttpProblem('forbidden', 'this server has no admin token, so it must be asked as localhost');
}

/** A page elsewhere may have its own name point to this machine; then that name is what a browser asks for. */
const OWN_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

function unauthorized(detail?: string): HttpProblem {
  return new HttpProblem('unauthorized', detail, {}, [['WWW-Authenticate', 'Bearer realm="sluice"']]);
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
