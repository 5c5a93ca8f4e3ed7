/** An OpenTelemetry collector for tests: an HTTP server that records the JSON it receives. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

export interface Collector {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  /** Status with which the collector responds from now on. */
  status: number;
  readonly close: () => Promise<void>;
}

export async function collector(port = 0): Promise<Collector> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const isPacked = request.headers['content-encoding'] === 'gzip';
      const body: unknown = JSON.parse((isPacked ? gunzipSync(bytes) : bytes).toString());
      received.push({ path: request.url ?? '', headers: request.headers, body });
      response.writeHead(found.status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const own = (server.address() as AddressInfo).port;
  const found: Collector = {
    url: `http://127.0.0.1:${own}`,
    port: own,
    received,
    status: 200,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  onTestFinished(() => found.close());
  return found;
}

export function attributesOf(given: readonly Attribute[]): Record<string, string | number | undefined> {
  return Object.fromEntries(
    given.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}
