/**
 * A TCP proxy between a client and its server that injects network faults.
 *
 * TCP never loses a single reply: a client that misses one receives nothing more on that connection. So the
 * proxy drops a reply and everything after it, until the connection is cut.
 */
import { connect, createServer, type Socket } from 'node:net';

export interface Middleman {
  readonly port: number;
  /** Delay added to requests, in milliseconds. */
  latency: number;
  /** Probability, for each reply, that its connection becomes silent and is cut a little later. */
  loss: number;
  /**
   * While true, nothing passes in either direction. Held-back bytes are delivered when this becomes false.
   */
  paused: boolean;
  /** Requests pass, but their replies are dropped. */
  mute: boolean;
  /** Connections are refused. */
  closed: boolean;
  /** Number of packets that clients sent, whether they were forwarded or not. */
  readonly sent: number;
  /** Closes all connections. */
  cut(): void;
  stop(): Promise<void>;
}

/** How long a connection that lost a reply stays silent before it is cut, in milliseconds. */
const SILENCE = 100;

export async function proxyTo(target: number): Promise<Middleman> {
  const pairs = new Set<readonly [Socket, Socket]>();
  const held: (() => void)[] = [];
  let paused = false;
  let sent = 0;

  const server = createServer((near) => {
    if (proxy.closed) {
      near.destroy();
      return;
    }
    const far = connect(target, '127.0.0.1');
    const pair = [near, far] as const;
    pairs.add(pair);
    let silent = false;
    const end = (): void => {
      near.destroy();
      far.destroy();
      pairs.delete(pair);
    };
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.once('close', end);
      socket.on('error', end);
    }
    const toServer = inOrder((bytes) => far.writable && far.write(bytes));
    const toClient = inOrder((bytes) => near.writable && near.write(bytes));
    near.on('data', (bytes: Buffer) => {
      sent++;
      toServer(bytes, proxy.latency);
    });
    far.on('data', (bytes: Buffer) => {
      if (!silent && Math.random() < proxy.loss) {
        silent = true;
        setTimeout(end, SILENCE);
      }
      if (proxy.mute) silent = true;
      if (!silent) toClient(bytes, 0);
    });
  });

  /**
   * Forwards bytes after a delay, never out of order. Uses a single timer, because with two timers, the later one may fire
   * first.
   */
  function inOrder(write: (bytes: Buffer) => unknown): (bytes: Buffer, delay: number) => void {
    const line: { readonly bytes: Buffer; readonly due: number }[] = [];
    function pass(): void {
      while (line.length > 0 && line[0].due <= performance.now()) {
        const { bytes } = line.shift() as { bytes: Buffer };
        if (paused) held.push(() => write(bytes));
        else write(bytes);
      }
      if (line.length > 0) setTimeout(pass, line[0].due - performance.now());
    }
    return (bytes, delay) => {
      line.push({ bytes, due: performance.now() + delay });
      if (line.length === 1) pass();
    };
  }

  const proxy: Middleman = {
    port: 0,
    latency: 0,
    loss: 0,
    mute: false,
    closed: false,
    get paused() {
      return paused;
    },
    set paused(value) {
      paused = value;
      if (!paused) for (const pass of held.splice(0)) pass();
    },
    get sent() {
      return sent;
    },
    cut() {
      for (const [near, far] of pairs) {
        near.destroy();
        far.destroy();
      }
      pairs.clear();
      held.length = 0;
    },
    async stop() {
      proxy.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(proxy, { port: (server.address() as { port: number }).port });
}
