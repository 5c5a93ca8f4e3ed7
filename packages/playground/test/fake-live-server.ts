/** NOT a Sluice server: speaks LIVE.md, for the tests of the page alone. What it counts is made up. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listening, serveFile } from './browser.ts';

export interface FakeOptions {
  readonly port?: number;
  /** Also for GET /live. */
  readonly needsToken?: boolean;
  /** Between snapshots, in ms. */
  readonly every?: number;
}

export interface FakeLiveServer {
  readonly url: string;
  readonly port: number;
  /** Calls to /v1, as they came. */
  readonly calls: { readonly path: string; readonly token: string; readonly body: unknown }[];
  config: Record<string, unknown>;
  snapshot: Record<string, unknown>;
  /** Tells everybody what it was given as its configuration. */
  sayConfig(): void;
  /** Keeps the connections and says nothing more. */
  fallSilent(): void;
  close(): Promise<void>;
}

export const TOKEN = 'let-me-in';

export async function openFakeLiveServer(folder: string, options: FakeOptions = {}): Promise<FakeLiveServer> {
  const { port = 0, needsToken = false, every = 100 } = options;
  const streams = new Set<ServerResponse>();
  const calls: FakeLiveServer['calls'] = [];
  let timer: NodeJS.Timeout | undefined;

  const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const problem = (response: ServerResponse, status: number, title: string) =>
    response
      .writeHead(status, { 'Content-Type': 'application/problem+json' })
      .end(JSON.stringify({ title, status }));
  const tokenOf = ({ headers }: IncomingMessage) => headers.authorization?.replace('Bearer ', '') ?? '';

  const server = createServer((request, response) => {
    const path = request.url ?? '';
    if (path === '/live') {
      if (needsToken && tokenOf(request) !== TOKEN) return problem(response, 401, 'A token is needed');
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(event('config', fake.config));
      streams.add(response);
      return response.on('close', () => streams.delete(response));
    }
    if (!path.startsWith('/v1/')) return serveFile(folder, request, response);
    let text = '';
    request.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    return request.on('end', () => {
      calls.push({ path, token: tokenOf(request), body: JSON.parse(text) });
      if (path !== '/v1/peek' && tokenOf(request) !== TOKEN)
        return problem(response, 401, 'A token is needed');
      const isFree = path === '/v1/reset';
      const numbers = isFree
        ? { remaining: 20, retryAfter: 0, resetAfter: 0 }
        : { remaining: 0, retryAfter: 1500, resetAfter: 4000 };
      const decision = {
        allowed: isFree,
        taken: 0,
        limit: 20,
        policy: 'default',
        policies: [],
        source: 'store',
        ...numbers,
      };
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(decision));
    });
  });

  const url = await listening(server, port);
  const fake: FakeLiveServer = {
    url,
    port: Number(new URL(url).port),
    calls,
    config: {
      version: '9.9.9',
      startedAt: Date.now() - 60_000,
      source: 'limits.yaml',
      loadedAt: Date.now() - 30_000,
      error: null,
      limits: [
        { name: 'api', policies: '10/s burst 20', shadow: false },
        { name: 'login', policies: '5/min fixed-window & 20/h sliding-log', shadow: true },
      ],
    },
    snapshot: {
      span: every,
      limits: [{ name: 'api', allowed: 12, denied: 3, near: 2, shadowed: 0 }],
      topDenied: [
        { limit: 'api', key: '203.0.113.9', denied: 421 },
        { limit: 'login', key: 'mallory', denied: 17 },
      ],
      latency: { p50: 0.08, p99: 0.9, max: 2.4 },
      store: { kind: 'redis', up: true, breaker: 'closed', p99: 0.7, faults: 0, fallbacks: 0 },
    },
    sayConfig() {
      for (const stream of streams) stream.write(event('config', fake.config));
    },
    fallSilent() {
      clearInterval(timer);
    },
    async close() {
      clearInterval(timer);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  timer = setInterval(() => {
    for (const stream of streams) stream.write(event('snapshot', { ...fake.snapshot, at: Date.now() }));
  }, every);
  return fake;
}
