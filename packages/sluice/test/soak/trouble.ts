/** A Redis behind a bad network, which is stopped, killed and emptied now and then. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Middleman, proxyTo } from '../redis/proxy.ts';
import { redisServer, type Server } from '../redis/server.ts';

export interface Trouble {
  /** Of the network's near end. */
  readonly port: number;
  /** Grows whenever the server loses what it knew; odd while that happens. */
  readonly epoch: number;
  readonly counts: Readonly<Record<string, number>>;
  /** One fault at a time, with a pause after each, until `isOver`. */
  make(draw: (below: number) => number, isOver: () => boolean): Promise<void>;
  stop(): Promise<void>;
}

export async function trouble(): Promise<Trouble> {
  let server: Server = await redisServer();
  const { port } = server;
  const network: Middleman = await proxyTo(port);
  const admin = new Redis(port, '127.0.0.1', { retryStrategy: () => 50 });
  admin.on('error', () => {});
  const counts: Record<string, number> = {};
  let epoch = 0;

  async function losing(act: () => Promise<unknown>): Promise<void> {
    epoch++;
    await act();
    epoch++;
  }

  const faults: Readonly<Record<string, (draw: (below: number) => number) => Promise<unknown>>> = {
    'script flush': async (draw) => {
      for (let i = 0; i < 10; i++) {
        await admin.script('FLUSH');
        await sleep(draw(60));
      }
    },
    flushall: () => losing(() => admin.flushall()),
    latency: async (draw) => {
      network.latency = 5 + draw(60);
      await sleep(500 + draw(500));
      network.latency = 0;
    },
    'lost replies': async (draw) => {
      network.loss = 0.02;
      await sleep(500 + draw(500));
      network.loss = 0;
    },
    silence: async (draw) => {
      network.mute = true;
      await sleep(100 + draw(300));
      network.mute = false;
      network.cut();
    },
    cut: async () => network.cut(),
    stop: async (draw) => {
      server.process.kill('SIGSTOP');
      await sleep(100 + draw(700));
      server.process.kill('SIGCONT');
    },
    kill: (draw) =>
      losing(async () => {
        await server.stop('SIGKILL');
        await sleep(draw(500));
        server = await redisServer({ port });
      }),
  };
  const names = Object.keys(faults);

  return {
    port: network.port,
    get epoch() {
      return epoch;
    },
    counts,
    async make(draw, isOver) {
      // All of them come, in another order each round.
      for (let round: string[] = []; !isOver(); ) {
        if (round.length === 0) round = [...names];
        const [name = ''] = round.splice(draw(round.length), 1);
        await faults[name]?.(draw);
        counts[name] = (counts[name] ?? 0) + 1;
        await sleep(200 + draw(800));
      }
    },
    async stop() {
      admin.disconnect();
      await network.stop();
      await server.stop();
    },
  };
}
