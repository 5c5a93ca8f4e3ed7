/** Claims about several requests that a client sends over one HTTP/1.1 connection without waiting for responses. */
import { connect, type Socket } from 'node:net';
import { type App, OVER_HTTP1, portOf } from './apps.ts';
import { audited, type Claim, listenersOf, same, until } from './audit.ts';

const PATHS = ['/wait', '/quick', '/stream'];
const MANY = 30;

/** The first response waits in its handler, so all others wait behind it. */
const pathOf = (index: number): string => (index === 0 ? '/wait' : PATHS[index % PATHS.length]);

function request(id: number, path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nid: ${id}\r\n\r\n`;
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

function ask(socket: Socket, count: number, first = 0, path: (index: number) => string = pathOf): void {
  socket.write(Array.from({ length: count }, (_, index) => request(first + index, path(index))).join(''));
}

/** Resolves when `count` responses to /quick have arrived. */
async function answers(socket: Socket, count: number): Promise<void> {
  let text = '';
  const read = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  const seen = (): number => text.split('/quick answered').length - 1;
  socket.on('data', read);
  await until(
    () => seen() === count,
    () => `${seen()} of ${count} answers`,
  );
  socket.off('data', read);
}

const claimsOf = (app: App): readonly Claim[] => [
  {
    name: `${app.name}: a reset connection frees the places of all its pipelined requests`,
    async run() {
      const audit = await audited(app);
      const socket = await connected(portOf(audit.server));
      ask(socket, MANY);
      await until(
        () => audit.handled.length === MANY,
        () => `${audit.handled.length} of ${MANY} handled`,
      );
      socket.resetAndDestroy();
      await audit.balanced();
      same(audit.charged.size, MANY);
      // Handlers that respond too late must not settle their requests again.
      audit.release();
      await audit.balanced();
      audit.close();
    },
  },
  {
    name: `${app.name}: a connection that is reset before its requests are charged holds no place`,
    async run() {
      const decided = new Map<string, () => void>();
      const audit = await audited(app, (id) =>
        id === '0' ? undefined : new Promise((resolve) => void decided.set(id, resolve)),
      );
      const closed = new Promise<void>((resolve) =>
        audit.server.once('connection', (socket: Socket) => socket.once('close', () => resolve())),
      );
      const socket = await connected(portOf(audit.server));
      ask(socket, MANY);
      await until(
        () => decided.size === MANY - 1,
        () => `${decided.size} keys asked for`,
      );
      await until(
        () => audit.handled.length === 1,
        () => `${audit.handled.length} handled`,
      );
      socket.resetAndDestroy();
      await closed;
      // Half of the requests are charged while their responses wait, the other half after Node has assigned the closed socket
      // to their responses.
      const half = [...decided.values()];
      for (const decide of half.splice(0, MANY / 2)) decide();
      audit.release();
      await audit.balanced();
      for (const decide of half) decide();
      await until(
        () => audit.charged.size === MANY,
        () => `${audit.charged.size} charged`,
      );
      await audit.balanced();
      audit.close();
    },
  },
  {
    name: `${app.name}: a kept-alive connection does not accumulate listeners, and no response counts as aborted`,
    async run() {
      const warnings: Error[] = [];
      const warn = (warning: Error): void => void warnings.push(warning);
      process.on('warning', warn);
      const audit = await audited(app);
      const accepted = new Promise<Socket>((resolve) => audit.server.once('connection', resolve));
      const socket = await connected(portOf(audit.server));
      const served = await accepted;
      const quick = (): string => '/quick';
      ask(socket, 1, 0, quick);
      await answers(socket, 1);
      await audit.balanced();
      const before = listenersOf(served);
      for (let first = 1; first < 300; first += MANY) {
        ask(socket, MANY, first, quick);
        await answers(socket, MANY);
      }
      await audit.balanced();
      same(listenersOf(served), before);
      same(warnings.map(String), []);
      same(new Set([...audit.settled.values()].flat().map(({ aborted }) => aborted)).has(true), false);
      socket.destroy();
      audit.close();
      process.off('warning', warn);
    },
  },
];

export const pipelining: readonly Claim[] = OVER_HTTP1.flatMap(claimsOf);
