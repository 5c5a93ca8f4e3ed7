/**
 * The probe listener: /livez, /readyz and /metrics over plain HTTP and without a token, for orchestrators and scrapers that have no
 * client certificate. It opens before the other listeners and closes after them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MaybePromise } from 'sluice';
import { EXPOSITION_TYPE } from 'sluice/prometheus';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../telemetry/metrics/metrics.ts';
import { type Address, isLoopback, REQUEST_TIMEOUT, showAddress } from '../listener.ts';
import { listenError } from '../listen-error.ts';
import { checkOrigin } from './access.ts';
import { probesOf, type Readiness } from './readiness.ts';
import { type Reply, text } from './reply.ts';

export interface ProbeOptions {
  readonly address: Address;
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  /** Whether the metrics contain keys. */
  readonly showsKeys: boolean;
  readonly log: Log;
}

export interface ProbeListener {
  readonly address: Address;
  close(): Promise<void>;
}

/** Maximum number of connections. Probes and scrapes need only a few. */
const MAX_CONNECTIONS = 100;

export async function openProbes(options: ProbeOptions): Promise<ProbeListener> {
  const { address, readiness, metrics, showsKeys, log } = options;
  const probes = probesOf(readiness);

  function answer(request: IncomingMessage): MaybePromise<Reply> {
    const { url = '', method } = request;
    const [path = '', query = ''] = url.split('?', 2);
    if (method !== 'GET' && method !== 'HEAD') return text('method not allowed\n', 405);
    try {
      checkOrigin(request);
    } catch {
      return text('cross-origin requests are not allowed\n', 403);
    }
    if (path === '/metrics') return text(metrics.text(), 200, EXPOSITION_TYPE);
    const probe = probes.get(path);
    if (probe !== undefined) return probe(query);
    return text('not found; this listener serves /livez, /readyz and /metrics\n', 404);
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, type, body } = await answer(request);
    response.writeHead(status, {
      'Content-Type': type,
      'Content-Length': Buffer.byteLength(body),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  const server = createServer((request, response) => void respond(request, response));
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = REQUEST_TIMEOUT;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(error, 'probe', 'probe-http', address)));
    server.listen(address.port, address.host, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
  const actual = { host: address.host, port: (server.address() as AddressInfo).port };
  log.info('listening', { listener: 'probe', address: showAddress(actual), tls: false });
  if (showsKeys && !isLoopback(actual))
    log.warn(
      'anyone who can reach this address can read the most denied keys at /metrics; remove --top-keys',
      {
        listener: 'probe',
        address: showAddress(actual),
      },
    );
  return {
    address: actual,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
