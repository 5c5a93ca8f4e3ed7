import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Hammer, hammer } from '../redis/hammer.ts';
import { type PostgresServer, postgresServer } from './server.ts';

const ROUNDS = 100;
const LANES = 64;
const LIMIT = 200;

let server: PostgresServer;
let hammers: Hammer[] = [];

beforeAll(async () => {
  server = await postgresServer();
  const { port } = server;
  // The clocks of two are off: only the server's counts.
  hammers = await Promise.all([
    hammer(port, 'pg'),
    hammer(port, 'pg', 3_600_000),
    hammer(port, 'postgres'),
    hammer(port, 'postgres', -3_600_000),
  ]);
}, 60_000);

afterAll(async () => {
  await Promise.all(hammers.map((one) => one.stop()));
  await server?.stop();
});

test.each(['gcra', 'slidingLog', 'fixedWindow', 'two policies'] as const)(
  `4 processes with ${LANES} checks in flight each are admitted exactly the limit, ${ROUNDS} times: %s`,
  async (policies) => {
    let over = 0;
    let under = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const damages = await Promise.all(
        hammers.map((one) =>
          one.strike({
            policies,
            limit: LIMIT,
            name: policies,
            key: `round ${round}`,
            lanes: LANES,
            checks: 2 * LANES,
          }),
        ),
      );
      const admitted = damages.reduce((sum, damage) => sum + damage.admitted, 0);
      over += Math.max(0, admitted - LIMIT);
      under += Math.max(0, LIMIT - admitted);
    }
    expect({ over, under }).toEqual({ over: 0, under: 0 });
  },
  60_000,
);
