/**
 * Detects the end of an exchange on Node, which is when the response has been sent or the client has disconnected. All Node
 * middlewares use this module, because the response's own 'close' event is missing in three cases:
 *
 * - HTTP/1.1 pipelining. A response that waits behind another has no socket yet, and Node does not notify it when the
 *   connection closes. The request's socket does emit 'close'.
 * - HTTP/2 up to Node 24. A stream that ends with NO_ERROR while data is still unwritten is `closed`, but it is never
 *   destroyed, so neither the stream nor the response emits 'close'. The stream emits 'aborted' if the response had not
 *   been ended, and otherwise 'end' when the rest of the request's body has been dropped. If the handler has paused that
 *   body, no event is emitted at all, so the stream is also checked every few seconds.
 * - HTTP/2 and HEAD. The response emits 'close' only if the handler has ended the response, but the stream always emits 'close'.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Outcome } from '../../http/index.ts';
import { VERSION } from '../../internal/version.ts';

/** A request over HTTP/1.1 or HTTP/2. */
export type NodeRequest = IncomingMessage | Http2ServerRequest;
/** A response over HTTP/1.1 or HTTP/2. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** How often to check a stream that may end without an event, in milliseconds. */
const CHECK_INTERVAL = 5000;

type Callbacks = Set<() => void>;

const CALLBACKS: unique symbol = Symbol.for(`sluice ${VERSION} over`);

/**
 * A response with the callbacks of all its guards, or a socket with the callbacks of all responses that are waiting for that
 * socket.
 */
interface Watched {
  [CALLBACKS]?: Callbacks | undefined;
}

export function isOver(response: NodeResponse): boolean {
  if (isHttp2(response)) return isStreamOver(response.stream);
  // If the turn of a pipelined response comes after the connection has closed, Node gives the response the closed socket.
  return response.destroyed || (response.socket ?? response.req?.socket)?.destroyed === true;
}

/** The argument for `settle`. A response that was ended but not completely written is treated as aborted. */
export function outcomeOf(response: NodeResponse): Outcome {
  return {
    status: response.statusCode,
    // Node marks the response of an aborted HTTP/2 stream as finished, even if the handler has not ended it.
    aborted: !(response.writableEnded && response.writableFinished),
  };
}

/**
 * Calls `callback` once, when the exchange is over, or synchronously if it is already over. There is one listener per event and
 * emitter, however many callbacks wait, and all listeners are removed at the end. Returns a function that withdraws the callback.
 */
export function whenOver(response: NodeResponse & Watched, callback: () => void): () => void {
  if (isOver(response)) {
    callback();
    return () => {};
  }
  const callbacks = response[CALLBACKS] ?? watched(response);
  callbacks.add(callback);
  return () => void callbacks.delete(callback);
}

function watched(response: NodeResponse & Watched): Callbacks {
  const callbacks: Callbacks = new Set();
  response[CALLBACKS] = callbacks;
  const unwatch = isHttp2(response) ? watchStream(response.stream, over) : watchResponse(response, over);
  function over(): void {
    unwatch();
    response[CALLBACKS] = undefined;
    for (const callback of callbacks) callback();
  }
  return callbacks;
}

function watchResponse(response: ServerResponse, over: () => void): () => void {
  response.on('close', over);
  // Once a response has a socket, Node notifies the response when the socket closes.
  const socket = response.socket === null ? response.req?.socket : undefined;
  // Sockets of simulated requests may not be event emitters.
  const unwatch = typeof socket?.on === 'function' ? watchSocket(socket, over) : undefined;
  return () => {
    response.off('close', over);
    unwatch?.();
  };
}

/**
 * Calls `over` when the socket closes. A socket has one listener for all responses that are waiting for it, and no listener if no
 * response is waiting.
 */
function watchSocket(socket: Socket & Watched, over: () => void): () => void {
  let callbacks = socket[CALLBACKS];
  if (callbacks === undefined) {
    callbacks = new Set();
    socket[CALLBACKS] = callbacks;
    socket.on('close', socketClosed);
  }
  callbacks.add(over);
  return () => {
    callbacks.delete(over);
    if (callbacks.size > 0) return;
    socket[CALLBACKS] = undefined;
    socket.off('close', socketClosed);
  };
}

function socketClosed(this: Watched): void {
  for (const over of this[CALLBACKS] ?? []) over();
}

function watchStream(stream: ServerHttp2Stream, over: () => void): () => void {
  // 'end' is also emitted while the stream is open, when the request's body has been read.
  const check = (): void => {
    if (isStreamOver(stream)) over();
  };
  stream.on('close', check).on('aborted', check).on('end', check);
  const timer = setInterval(check, CHECK_INTERVAL).unref();
  return () => {
    clearInterval(timer);
    stream.off('close', check).off('aborted', check).off('end', check);
  };
}

function isHttp2(response: NodeResponse): response is Http2ServerResponse {
  return 'stream' in response;
}

function isStreamOver({ closed, destroyed }: ServerHttp2Stream): boolean {
  return closed || destroyed;
}
