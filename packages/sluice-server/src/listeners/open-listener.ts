/** Opens the listeners of a server. */
import type { Core } from '../core/core.ts';
import type { ListenerName, ServerOptions } from '../server-options.ts';
import { createAttempts } from './auth-attempts.ts';
import { openHttp } from './http/http.ts';
import {
  isLoopback,
  type Listener,
  type ListenerOptions,
  type OpenListener,
  showAddress,
} from './listener.ts';
import { listenError } from './listen-error.ts';
import { openResp } from './resp/resp.ts';

/** Options that differ between the listeners of a server, or that the server's own options do not contain. */
type OwnOptions = Pick<
  ListenerOptions,
  | 'address'
  | 'tokens'
  | 'tls'
  | 'live'
  | 'tracer'
  | 'isHealthy'
  | 'isStoreReady'
  | 'onConnection'
  | 'requestLog'
>;

/** The function that opens the listener of each protocol. */
export const LISTENERS: Readonly<Record<ListenerName, OpenListener>> = {
  http: openHttp,
  // Imported on demand, because the gRPC library is large.
  grpc: async (core, options) => (await import('./grpc/grpc.ts')).openGrpc(core, options),
  resp: openResp,
};

/** The names of the listeners in messages. */
const NAMES: Readonly<Record<ListenerName, string>> = { http: 'HTTP', grpc: 'gRPC', resp: 'RESP' };

/** Opens a listener and logs its address. */
export async function openListener(
  name: ListenerName,
  core: Core,
  options: ServerOptions,
  own: OwnOptions,
): Promise<Listener> {
  const { log, adminTokens, page, maxMessage = 1024 * 1024, maxKey = 1024 } = options;
  const { adminWithoutToken, maxConnections, idleTimeout, keepAlive, remote, trustProxy } = options;
  const { keyHeader, limitHeader } = options;
  const { tls, tokens } = own;
  const bounds = { maxMessage, maxKey, maxConnections, idleTimeout, keepAlive };
  // Each listener counts attempts separately, because guessing the tokens of one listener must not lock clients out of another.
  const attempts = createAttempts(trustProxy);
  const listener = await LISTENERS[name](core, {
    ...own,
    ...bounds,
    adminTokens,
    adminWithoutToken,
    attempts,
    remote,
    keyHeader,
    limitHeader,
    page,
    log,
  }).catch((error: unknown) => {
    throw listenError(error, NAMES[name], name, own.address);
  });
  const address = showAddress(listener.address);
  log.info('listening', {
    listener: name,
    address,
    tls: tls !== undefined,
    // The log line contains a URL that terminals make clickable.
    ...(name === 'http' && page !== 'none' && { page: `http${tls === undefined ? '' : 's'}://${address}/` }),
  });
  if (!isLoopback(listener.address) && tokens === undefined && tls?.ca === undefined)
    log.warn('anyone who can reach this address can use up limits; configure a token', {
      listener: name,
      address,
    });
  return listener;
}
