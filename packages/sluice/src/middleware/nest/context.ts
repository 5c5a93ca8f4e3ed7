/** Where Nest keeps a request and its response: HTTP on Express and on Fastify, GraphQL, WebSocket. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import type { RequestLike, View } from '../../http/index.ts';
import { expressAddress, fastifyAddress } from '../shared/framework-address.ts';

/** Express hands on Node's own; Fastify wraps it. */
type Wrapped<T> = T & { readonly raw?: T };

type NodeRequest = Wrapped<IncomingMessage> & { readonly res?: NestResponse };

export type NestResponse = Wrapped<ServerResponse> & { header(name: string, value: string): unknown };

interface GraphQLContext {
  readonly req?: NodeRequest;
  readonly res?: NestResponse;
  /** Mercurius. */
  readonly reply?: NestResponse & { readonly request?: NodeRequest };
  /** graphql-ws. */
  readonly extra?: { readonly request?: NodeRequest };
}

interface SocketClient {
  /** Socket.IO; with ws, a gateway may put it there in handleConnection(client, request). */
  readonly request?: NodeRequest;
  /** ws. */
  readonly _socket?: RequestLike['socket'];
}

const NOBODY: RequestLike = { headers: {} };

/** The framework's request, whatever brought it: for keys, `requestOf<{ user: User }>(context).user.id`. */
export function requestOf<Q = RequestLike>(context: ExecutionContext): Q {
  return find(context) as Q;
}

function find(context: ExecutionContext): RequestLike {
  switch (context.getType<string>()) {
    case 'http':
      return context.getArgByIndex<NodeRequest>(0);
    case 'graphql': {
      const { req, reply, extra } = context.getArgByIndex<GraphQLContext | undefined>(2) ?? {};
      return req ?? reply?.request ?? extra?.request ?? NOBODY;
    }
    case 'ws': {
      const { request, _socket } = context.getArgByIndex<SocketClient>(0);
      return request ?? { headers: {}, socket: _socket };
    }
    default:
      return NOBODY;
  }
}

/** Undefined where there is none, as with a message on a socket. */
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
  // A field of a query and a message on a socket are asked for, and charged, by themselves.
  identity(context) {
    if (context.getType() !== 'http') return context;
    const request = context.getArgByIndex<NodeRequest>(0);
    return request.raw ?? request;
  },
};
