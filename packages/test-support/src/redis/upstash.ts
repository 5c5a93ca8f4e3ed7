/**
 * Answers Upstash's REST protocol on a local port and forwards every command to a Redis server, so that `@upstash/redis` can be tested
 * without Upstash's service.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';

export interface RestServer {
  readonly url: string;
  readonly token: string;
  /** Commands that were received, in the order of their arrival. */
  readonly received: string[][];
  /** While true, the server runs each command and then closes the connection without a reply. */
  losesReplies: boolean;
  stop(): Promise<void>;
}

const TOKEN = 'secret';

/** Starts the REST server in front of the Redis server on the given port. */
export async function restServer(port: number): Promise<RestServer> {
  const redis = new Redis({ port, maxRetriesPerRequest: 0 }).on('error', () => {});
  const received: string[][] = [];

  async function answerTo(command: string[], isEncoded: boolean): Promise<[number, object]> {
    try {
      const [name, ...args] = command;
      const result = await redis.callBuffer(name, ...args);
      return [200, { result: textOf(result, isEncoded ? 'base64' : 'utf8') }];
    } catch (error) {
      return [400, { error: (error as Error).message }];
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isAuthorized = request.headers.authorization === `Bearer ${TOKEN}`;
    const command = JSON.parse(Buffer.concat(chunks).toString()) as string[];
    received.push(command);
    const [status, body] = isAuthorized
      ? await answerTo(command, request.headers['upstash-encoding'] === 'base64')
      : [401, { error: 'WRONGPASS invalid or missing auth token' }];
    if (server.losesReplies) request.socket.destroy();
    else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  const http = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));

  const server: RestServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    token: TOKEN,
    received,
    losesReplies: false,
    async stop() {
      redis.disconnect();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}

/** Encodes a reply. Numbers and null stay as they are. */
function textOf(reply: unknown, encoding: 'base64' | 'utf8'): unknown {
  if (Array.isArray(reply)) return reply.map((part) => textOf(part, encoding));
  return Buffer.isBuffer(reply) ? reply.toString(encoding) : reply;
}
