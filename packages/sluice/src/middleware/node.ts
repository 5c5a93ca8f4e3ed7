/** What Node's own server and the frameworks on top of it share: headers set, a refusal sent, the end awaited. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Verdict, View } from '../http/index.ts';

export const nodeView: View<IncomingMessage> = {
  addressed: (request) => request,
  identity: (request) => request,
};

/** True: go on. False: the refusal is sent. */
export function carryOut({ headers, refusal, settle }: Verdict, response: ServerResponse): boolean {
  // Too late to say anything: the client has gone, or somebody else has answered while the store was asked.
  if (response.headersSent || response.destroyed) {
    void settle?.({ status: response.statusCode, aborted: response.destroyed });
    return !response.destroyed && refusal === undefined;
  }
  for (const [name, value] of headers) response.setHeader(name, value);
  if (settle !== undefined)
    response.once(
      'close',
      () => void settle({ status: response.statusCode, aborted: !response.writableFinished }),
    );
  if (refusal === undefined) return true;
  response.statusCode = refusal.status;
  response.setHeader('Content-Type', refusal.type);
  response.setHeader('Content-Length', Buffer.byteLength(refusal.body));
  response.end(refusal.body);
  return false;
}
