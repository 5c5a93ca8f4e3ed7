/** Claims about HTTP/2 streams that are aborted, one by one or with their connection. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { type App, OVER_HTTP2, portOf } from './apps.ts';
import { type Audit, audited, type Claim, listenersOf, same, until } from './audit.ts';

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

interface Client {
  readonly socket: Socket;
  readonly session: ClientHttp2Session;
  readonly ask: (method: string, path: string) => ClientHttp2Stream;
}

let lastId = 0;

/** With a flow-control window of 0 bytes, no part of a body reaches the client, and the server keeps it unwritten. */
function clientOf({ server }: Audit, window = 65_535): Client {
  const port = portOf(server);
  const socket = connectSocket(port, '127.0.0.1');
  socket.on('error', () => {});
  const session = connect(`http://127.0.0.1:${port}`, {
    createConnection: () => socket,
    settings: { initialWindowSize: window },
  });
  session.on('error', () => {});
  return {
    socket,
    session,
    ask(method, path) {
      const stream = session.request(
        { ':method': method, ':path': path, id: String(++lastId) },
        { endStream: method !== 'POST' },
      );
      stream.on('error', () => {});
      return stream.resume();
    },
  };
}

const handled = (audit: Audit, count: number): Promise<void> =>
  until(
    () => audit.handled.length === count,
    () => `${audit.handled.length} of ${count} handled`,
  );

/** Pseudorandom numbers in [0, 1), the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

async function storm(app: App, sessions: number, streams: number): Promise<void> {
  const random = randomNumbers(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)];
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, random() * 5));
  // Some keys are computed with a delay, so that some streams are aborted before they are charged.
  const audit = await audited(app, () => (random() < 0.3 ? pause() : undefined));
  for (let i = 0; i < sessions; i++) {
    const { session, socket, ask } = clientOf(audit, pick([0, 65_535]));
    for (let j = 0; j < streams; j++) {
      const stream = ask(pick(['GET', 'GET', 'POST', 'HEAD']), pick(['/quick', '/wait', '/stream']));
      const code = pick([NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM, NGHTTP2_INTERNAL_ERROR]);
      const when = random();
      if (when < 0.2) stream.close(code);
      else if (when < 0.4) setImmediate(() => stream.close(code));
      else if (when < 0.8) void pause().then(() => stream.close(code));
      else if (when < 0.9) stream.once('response', () => stream.close(code));
    }
    await pause();
    if (i % 3 === 0) session.destroy();
    else if (i % 3 === 1) socket.resetAndDestroy();
    else setTimeout(() => session.destroy(), 20);
  }
  await until(
    () => audit.charged.size > (sessions * streams) / 2,
    () => `only ${audit.charged.size} requests were charged`,
  );
  await audit.balanced();
  audit.release();
  await audit.balanced();
  audit.close();
}

/** Each function ends a stream in a way for which the response emits no event on some versions of Node. */
const WAYS: Record<string, (audit: Audit) => Promise<void>> = {
  async 'a HEAD request that is canceled before its response'(audit) {
    const stream = clientOf(audit).ask('HEAD', '/wait');
    await handled(audit, 1);
    stream.close(NGHTTP2_CANCEL);
  },
  async 'a stream reset with NO_ERROR while its response waits for a window'(audit) {
    const stream = clientOf(audit, 0).ask('GET', '/quick');
    await new Promise((resolve) => stream.once('response', resolve));
    stream.close(NGHTTP2_NO_ERROR);
  },
  async 'a stream reset with NO_ERROR in the middle of its response'(audit) {
    const stream = clientOf(audit).ask('GET', '/stream');
    await new Promise((resolve) => stream.once('data', resolve));
    stream.close(NGHTTP2_NO_ERROR);
  },
  async 'a stream reset with NO_ERROR before its handler responds'(audit) {
    const stream = clientOf(audit).ask('POST', '/wait');
    await handled(audit, 1);
    stream.close(NGHTTP2_NO_ERROR);
  },
  async 'a session that ends while its responses wait for a window'(audit) {
    const client = clientOf(audit, 0);
    for (const path of ['/quick', '/stream', '/wait', '/quick']) client.ask('GET', path);
    await handled(audit, 4);
    client.session.destroy();
  },
  async 'a connection that is reset while its responses wait for a window'(audit) {
    const client = clientOf(audit, 0);
    for (const path of ['/quick', '/stream', '/wait', '/quick']) client.ask('GET', path);
    await handled(audit, 4);
    client.socket.resetAndDestroy();
  },
};

const claimsOf = (app: App): readonly Claim[] => [
  ...Object.entries(WAYS).map(([way, abort]) => ({
    name: `${app.name} over HTTP/2: ${way} frees its place`,
    async run() {
      const audit = await audited(app);
      await abort(audit);
      await audit.balanced();
      const outcomes = [...audit.settled.values()].flat();
      if (outcomes.length === 0) throw new Error('nothing was charged');
      // A platform that passes on a complete body cannot know that the client did not receive it.
      if (app.name !== 'Hono')
        same(
          outcomes.filter(({ aborted }) => !aborted),
          [],
        );
      audit.release();
      await audit.balanced();
      audit.close();
    },
  })),
  {
    name: `${app.name} over HTTP/2: hundreds of streams aborted at random times free their places`,
    run: () => storm(app, app === OVER_HTTP2[0] ? 24 : 9, 100),
  },
  {
    name: `${app.name} over HTTP/2: a session does not accumulate listeners, and no response counts as aborted`,
    async run() {
      const warnings: Error[] = [];
      const warn = (warning: Error): void => void warnings.push(warning);
      process.on('warning', warn);
      const audit = await audited(app);
      const accepted = new Promise<ClientHttp2Session>((resolve) =>
        audit.server.once('session', (session: ClientHttp2Session) => resolve(session)),
      );
      const { session, ask } = clientOf(audit);
      const served = await accepted;
      let before: unknown;
      for (const count of [1, 100, 100]) {
        const streams = Array.from({ length: count }, () => ask('GET', '/quick'));
        await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once('close', resolve))));
        await audit.balanced();
        before ??= listenersOf(served);
      }
      same(listenersOf(served), before);
      same(warnings.map(String), []);
      same(
        [...audit.settled.values()].flat().filter(({ aborted }) => aborted),
        [],
      );
      session.destroy();
      audit.close();
      process.off('warning', warn);
    },
  },
];

/** Only this app has a path whose handler pauses the request's body. */
const paused: Claim = {
  name: 'node:http2 over HTTP/2: a stream that is reset with NO_ERROR frees its place even if the handler has paused the body',
  async run() {
    const audit = await audited(OVER_HTTP2[0]);
    const { ask, session } = clientOf(audit);
    const stream = ask('POST', '/paused');
    for (let parts = 0; parts < 4; parts++) stream.write(Buffer.alloc(15_000));
    await handled(audit, 1);
    await new Promise((resolve) => session.ping(resolve));
    stream.close(NGHTTP2_NO_ERROR);
    await audit.balanced();
    same([...audit.settled.values()].flat(), [{ status: 200, aborted: true }]);
    audit.close();
  },
};

export const streams: readonly Claim[] = [...OVER_HTTP2.flatMap(claimsOf), paused];
