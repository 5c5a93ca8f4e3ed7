/** The RESP door: any Redis client can ask. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, Server as SecureServer } from 'node:tls';
import type { Core } from '../core/core.ts';
import type { Door, DoorOptions } from '../door.ts';
import { letIn } from '../let-in.ts';
import { commandsOf } from './resp-commands.ts';
import { type Connection, serveClient, type Service } from './resp-connection.ts';
import { hearing } from './resp-socket.ts';

const MAX_ARGUMENTS = 1024;
/** While draining, a client that is silent may say one more thing within this time. */
const LAST_WORDS = 500;
/** A connection that was silent for so long is asked whether it is still there. */
const KEEP_ALIVE = 60_000;

export async function openResp(core: Core, options: DoorOptions): Promise<Door> {
  const { address, tls, log, maxMessage, tokens, tracer } = options;
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
    const socket = hearing(given, (text) => connection.hear(text));
    const connection = serveClient(socket, ++ids, service);
    connections.add(connection);
    if (moment !== undefined) connection.drain(moment);
    socket.on('close', () => connections.delete(connection));
  }

  // A client may say its last command and stop writing; it still gets the answer.
  const common = {
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE,
    pauseOnConnect: tls === undefined,
  };
  const server: Server =
    tls === undefined
      ? createServer(common, welcome)
      : createSecureServer(
          { ...common, ...tls, requestCert: tls.ca !== undefined, rejectUnauthorized: tls.ca !== undefined },
          welcome,
        );
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', (_error, socket: Socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (error) => log.error('the RESP door failed', { error: String(error) }));

  return {
    address: { host: address.host, port: portOf(server) },
    async drain(timeout) {
      await letIn(server);
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      moment = Math.min(LAST_WORDS, timeout);
      for (const connection of connections) connection.drain(moment);
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, timeout);
      await closed;
      clearTimeout(cut);
    },
    secure(next) {
      if (server instanceof SecureServer) server.setSecureContext(next);
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0;
}
