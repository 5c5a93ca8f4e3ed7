/** What Node's own server and the frameworks on top of it share: headers set, a refusal sent, the end awaited. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Refusal, Verdict, View } from '../http/index.ts';

/** Of HTTP/1 or 2. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
/** Of HTTP/1 or 2. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

export const nodeView: View<NodeRequest> = {
  addressed: (request) => request,
  identity: (request) => request,
};

/** True: go on. False: the refusal is sent, or there is nobody left to hear it. */
export function carryOut(
  { headers, refusal, settle }: Verdict,
  response: NodeResponse,
  send: (refusal: Refusal) => void = (refusal) => answer(response, refusal),
  set: (name: string, value: string) => unknown = (name, value) => response.setHeader(name, value),
): boolean {
  const end = (): void =>
    // A stream of HTTP/2 that was given up is finished, but was not ended.
    void settle?.({
      status: response.statusCode,
      aborted: !(response.writableEnded && response.writableFinished),
    });
  if (isClosed(response)) {
    end();
    return false;
  }
  if (settle !== undefined) response.once('close', end);
  // Sent: somebody else has answered while the store was asked.
  const isSent = response.headersSent;
  if (!isSent) for (const [name, value] of headers) set(name, value);
  if (refusal === undefined) return true;
  if (!isSent) send(refusal);
  return false;
}

/** Whether 'close' was emitted. Responses of HTTP/2 leave it to their stream to tell. */
function isClosed(response: NodeResponse): boolean {
  return 'stream' in response ? response.stream.destroyed : response.destroyed;
}

function answer(response: NodeResponse, { status, type, body }: Refusal): void {
  response.statusCode = status;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}
