/**
 * Applies verdicts on Node's own server and the frameworks on top of it, by setting headers, sending the denial and settling
 * charges.
 */
import type { Refusal, Verdict, View } from '../../http/index.ts';
import { isOver, type NodeRequest, type NodeResponse, outcomeOf, whenOver } from './exchange.ts';

export type { NodeRequest, NodeResponse } from './exchange.ts';

export const nodeView: View<NodeRequest> = {
  addressed: (request) => request,
  identity: (request) => request,
};

/** Applies a verdict. Returns true if the handler should run, and false if the denial was sent or the client has disconnected. */
export function carryOut(
  { headers, refusal, settle }: Verdict,
  response: NodeResponse,
  send: (refusal: Refusal) => void = (refusal) => answer(response, refusal),
  set: (name: string, value: string) => unknown = (name, value) => response.setHeader(name, value),
): boolean {
  const over = isOver(response);
  if (settle !== undefined) whenOver(response, () => void settle(outcomeOf(response)));
  if (over) return false;
  // Another part of the application may have responded while the store was deciding.
  const isSent = response.headersSent;
  if (!isSent) for (const [name, value] of headers) set(name, value);
  if (refusal === undefined) return true;
  if (!isSent) send(refusal);
  return false;
}

function answer(response: NodeResponse, { status, type, body }: Refusal): void {
  response.statusCode = status;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}
