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
  REQUEST_TIMEOUT,
} from '../listener.ts';
import { drainBacklog } from '../drain-backlog.ts';
import { commandsOf } from './commands.ts';
import { type Connection, serveClient, type Service } from './connection.ts';
import { readWithSharedBuffer } from './socket.ts';

const MAX_ARGUMENTS = 1024;
/** While draining, a client that is silent may say one more thing within this time. */
const LAST_WORDS = 500;
/** Milliseconds between two searches for silent connections. */
const LOOK_EVERY = 1000;
/** Milliseconds for a refused client to read why. */
const LINGER = 1000;

export async function openResp(core: Core, options: ListenerOptions): Promise<Listener> {
  const { address, tls, log, maxMessage, tokens, tracer, attempts } = options;
  const connections = new Set<Connection>();
  /** With those that are still shaking hands. */
  const sockets = new Set<Socket>();
  let writers: (() => void)[] = [];
  let ids = 0;
  /** While draining: how long a silent client has. */
  let moment: number | undefined;
  let answers = 0;
  const service: Service = {
    core,
    log,
    bounds: { maxArguments: MAX_ARGUMENTS, maxBytes: maxMessage },
    isClosed: tokens !== undefined,
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

  /** In a row: were each client written to at once, each would be woken alone, which takes longer than most commands. */
  function writeAll(): void {
    const ready = writers;
    writers = [];
    for (const write of ready) write();
  }

  function welcome(given: Socket): void {
    const client = attempts?.clientOf({ headers: {}, socket: given }) ?? '';
    const socket = readWithSharedBuffer(given, (text) => connection.hear(text));
    const connection = serveClient(socket, ++ids, client, service);
    connections.add(connection);
    if (moment !== undefined) connection.drain(moment);
    socket.on('close', () => connections.delete(connection));
  }

  // allowHalfOpen: a client that has stopped writing still gets the replies to its last commands.
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
          welcome,
        );
  const admit = admissionTo(server, { max: options.maxConnections, listener: 'resp', log });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    if (!admit(socket)) refuse(socket, tls === undefined);
    else if (tls === undefined) welcome(socket);
  });
  const look = setInterval(() => {
    const now = performance.now();
    for (const connection of connections) connection.look(now);
  }, LOOK_EVERY).unref();
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
      moment = Math.min(LAST_WORDS, timeout);
      for (const connection of connections) connection.drain(moment);
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, timeout);
      await closed;
      clearInterval(look);
      clearTimeout(cut);
    },
    secure(next) {
      if (server instanceof SecureServer) server.setSecureContext(next);
    },
  };
}

/** Before its TLS handshake a client cannot be told anything. */
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
