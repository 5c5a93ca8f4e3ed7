/**
 * Finds the request and its response in Nest's execution context, for HTTP on Express and on Fastify, for GraphQL and for
 * WebSocket.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import type { RequestLike, View } from '../../http/index.ts';
import { expressAddress, fastifyAddress } from '../shared/framework-address.ts';

/** A request or response of Node, which Express passes directly and Fastify wraps in `raw`. */
type Wrapped<T> = T & { readonly raw?: T };

type NodeRequest = Wrapped<IncomingMessage> & { readonly res?: NestResponse };

export type NestResponse = Wrapped<ServerResponse> & { header(name: string, value: string): unknown };

interface GraphQLContext {
  readonly req?: NodeRequest;
  readonly res?: NestResponse;
  /** Set by Mercurius. */
  readonly reply?: NestResponse & { readonly request?: NodeRequest };
  /** Set by graphql-ws. */
  readonly extra?: { readonly request?: NodeRequest };
}

interface SocketClient {
  /** Set by Socket.IO. With ws, a gateway can set this property in handleConnection(client, request). */
  readonly request?: NodeRequest;
  /** Set by ws. */
  readonly _socket?: RequestLike['socket'];
}

const NO_REQUEST: RequestLike = { headers: {} };

/**
 * Returns the framework's request, whatever the transport, for use in keys such as `requestOf<{ user: User }>(context).user.id`.
 */
export function requestOf<Q = RequestLike>(context: ExecutionContext): Q {
  return find(context) as Q;
}

function find(context: ExecutionContext): RequestLike {
  switch (context.getType<string>()) {
    case 'http':
      return context.getArgByIndex<NodeRequest>(0);
    case 'graphql': {
      const { req, reply, extra } = context.getArgByIndex<GraphQLContext | undefined>(2) ?? {};
      return req ?? reply?.request ?? extra?.request ?? NO_REQUEST;
    }
    case 'ws': {
      const { request, _socket } = context.getArgByIndex<SocketClient>(0);
      return request ?? { headers: {}, socket: _socket };
    }
    default:
      return NO_REQUEST;
  }
}

/** Returns the response, or undefined if there is none, as with a WebSocket message. */
export function responseOf(context: ExecutionContext): NestResponse | undefined {
  switch (context.getType<string>()) {
    case 'http':
      return context.getArgByIndex<NestResponse>(1);
    case 'graphql': {
      const { reply, res, req } = context.getArgByIndex<GraphQLContext | undefined>(2) ?? {};
      return reply ?? res ?? req?.res;
    }
    default:
      return undefined;
  }
}

export const nestView: View<ExecutionContext> = {
  addressed(context) {
    const request = find(context) as Wrapped<RequestLike>;
    return request.raw ?? request;
  },
  byFramework(context) {
    const request = find(context);
    return expressAddress(request) ?? fastifyAddress(request);
  },
  // The fields of a GraphQL query and the messages on a socket are charged separately.
  identity(context) {
    if (context.getType() !== 'http') return context;
    const request = context.getArgByIndex<NodeRequest>(0);
    return request.raw ?? request;
  },
};
