/** The RESP listener, for any Redis client. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, Server as SecureServer } from 'node:tls';
import type { Core } from '../../core/core.ts';
import { admissionTo } from '../connections.ts';
import {
  type Listener,
  type ListenerOptions,
  HANDSHAKE_TIMEOUT,
  IDLE_TIMEOUT,
  isLoopback,
  REQUEST_TIMEOUT,
} from '../listener.ts';
import { CERTIFIED, type Grant, LOCAL_ADMIN, NO_TOKEN } from '../grants.ts';
import { drainBacklog } from '../drain-backlog.ts';
import { commandsOf } from './commands.ts';
import { serveClient } from './connection.ts';
import type { Connection, Service } from './service.ts';
import { readWithSharedBuffer } from './socket.ts';

const MAX_ARGUMENTS = 1024;
/**
 * Milliseconds for which connections are still served while draining. RESP has no message that asks a client to close its
 * connection. A client that stops sending within this time gets a reply to every command.
 */
const DRAIN_GRACE = 500;
/** Milliseconds between checks for inactive connections. */
const CHECK_EVERY = 1000;
/** Milliseconds for which the connection of a refused client stays open, so that the client can read the reason. */
const LINGER = 1000;

export async function openResp(core: Core, options: ListenerOptions): Promise<Listener> {
  const { address, tls, log, maxMessage, tokens, tracer, attempts } = options;
  const connections = new Set<Connection>();
  /** All open sockets, including those whose TLS handshake is in progress. */
  const sockets = new Set<Socket>();
  let writers: (() => void)[] = [];
  let ids = 0;
  /** Drains a new connection. Undefined if the listener is not draining. */
  let drainConnection: ((connection: Connection) => void) | undefined;
  let answers = 0;
  const service: Service = {
    core,
    log,
    requestLog: options.requestLog,
    bounds: { maxArguments: MAX_ARGUMENTS, maxBytes: maxMessage },
    requiresAuth: tokens !== undefined,
    openGrant: grantWithoutToken(options),
    idleTimeout: options.idleTimeout ?? IDLE_TIMEOUT,
    requestTimeout: options.requestTimeout ?? REQUEST_TIMEOUT,
    tracer,
    answered(times) {
      answers += times;
    },
    afterReading(work) {
      if (writers.push(work) === 1) setImmediate(writeAll);
    },
    commands: commandsOf(core, options, {
      connections: () => connections.size,
      commands: () => answers,
      port: () => portOf(server),
    }),
  };

  for (const name of service.commands.keys()) core.metrics.declareRoute('resp', name, ['ok', 'error']);
  for (const name of ['unknown', 'protocol']) core.metrics.declareRoute('resp', name, ['error']);

  /**
   * Writes pending replies to all clients, one after another. Writing to each client right after reading from it would cost more
   * than most commands do.
   */
  function writeAll(): void {
    const ready = writers;
    writers = [];
    for (const write of ready) write();
  }

  function serve(given: Socket): void {
    const client = attempts?.clientOf({ headers: {}, socket: given }) ?? '';
    const socket = readWithSharedBuffer(given, (text) => connection.receive(text));
    const connection = serveClient(socket, ++ids, client, service);
    connections.add(connection);
    drainConnection?.(connection);
    socket.on('close', () => connections.delete(connection));
  }

  // With allowHalfOpen, a client that has stopped writing still gets the replies to its last commands.
  const common = { allowHalfOpen: true, noDelay: true, pauseOnConnect: tls === undefined };
  const server: Server =
    tls === undefined
      ? createServer(common)
      : createSecureServer(
          {
            ...common,
            ...tls,
            handshakeTimeout: HANDSHAKE_TIMEOUT,
            requestCert: tls.ca !== undefined,
            rejectUnauthorized: tls.ca !== undefined,
          },
          serve,
        );
  const admit = admissionTo(server, {
    max: options.maxConnections,
    listener: 'resp',
    log,
    onConnection: options.onConnection,
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    if (!admit(socket)) refuse(socket, tls === undefined);
    else if (tls === undefined) serve(socket);
  });
  const timeouts = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.checkTimeouts(now);
  }, CHECK_EVERY).unref();
  server.on('tlsClientError', (_error, socket: Socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (error) => log.error('the RESP listener failed', { error: String(error) }));

  return {
    address: { host: address.host, port: portOf(server) },
    async drain(timeout) {
      await drainBacklog(server);
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      // Connections read for at most three quarters of `timeout`. In the last quarter, they send their last replies. Connections
      // that are still open after `timeout` are cut.
      drainConnection = (connection) => connection.drain(Math.min(DRAIN_GRACE, timeout / 4), timeout / 4);
      for (const connection of connections) drainConnection(connection);
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, timeout);
      await closed;
      clearInterval(timeouts);
      clearTimeout(cut);
    },
    secure(next) {
      if (server instanceof SecureServer) server.setSecureContext(next);
    },
  };
}

/** What a client without a token may do, if the listener does not require one. */
function grantWithoutToken({ adminTokens, adminWithoutToken, tls, address }: ListenerOptions): Grant {
  if (adminTokens !== undefined) return NO_TOKEN;
  if (tls?.ca !== undefined) return CERTIFIED;
  return adminWithoutToken === true && isLoopback(address) ? LOCAL_ADMIN : NO_TOKEN;
}

/** Closes a connection above the maximum after sending the reason. Nothing can be sent before a TLS handshake. */
function refuse(socket: Socket, isPlain: boolean): void {
  socket.on('error', () => socket.destroy());
  if (!isPlain) return void socket.destroy();
  // Unread input would turn the close into a reset, which discards the reply.
  socket.resume().end('-ERR maximum number of connections reached\r\n');
  setTimeout(() => socket.destroy(), LINGER).unref();
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0;
}
