/** Tests for processes that share a store, independent of the kind of store. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Hammer, hammer, type Kind } from './hammer.ts';

const LANES = 64;
const LIMIT = 200;

interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

/** `processes`: the client of each process and, optionally, the offset of its clock. */
export function admitExactlyTheLimit(
  rounds: number,
  serve: () => Promise<Server>,
  processes: readonly (readonly [kind: Kind, skew?: number])[],
): void {
  let server: Server | undefined;
  let hammers: readonly Hammer[] = [];
  beforeAll(async () => {
    server = await serve();
    const { port } = server;
    hammers = await Promise.all(processes.map(([kind, skew]) => hammer(port, kind, skew)));
  }, 60_000);
  afterAll(async () => {
    await Promise.all(hammers.map((one) => one.stop()));
    await server?.stop();
  });

  test.each(['gcra', 'slidingLog', 'fixedWindow', 'two policies'] as const)(
    `${processes.length} processes with ${LANES} checks in flight each are admitted exactly up to the limit, in ${rounds} rounds: %s`,
    async (policies) => {
      const blow = { policies, limit: LIMIT, name: policies, lanes: LANES, checks: 2 * LANES };
      let over = 0;
      let under = 0;
      for (let round = 0; round < rounds; round++) {
        // Every process receives the message for a round before any of them finishes it, because a round
        // takes several round trips.
        const damages = await Promise.all(
          hammers.map((one) => one.strike({ ...blow, key: `round ${round}` })),
        );
        const admitted = damages.reduce((sum, damage) => sum + damage.admitted, 0);
        over += Math.max(0, admitted - LIMIT);
        under += Math.max(0, LIMIT - admitted);
      }
      expect({ over, under }).toEqual({ over: 0, under: 0 });
    },
    60_000,
  );

  test('if all processes check 50 keys at the same time, each key admits exactly its limit', async () => {
    const blow = {
      policies: 'gcra',
      limit: 10,
      name: 'many keys',
      lanes: LANES,
      keys: 50,
      checks: 500,
    } as const;
    for (let round = 0; round < 10; round++) {
      const damages = await Promise.all(hammers.map((one) => one.strike({ ...blow, key: `keys ${round}` })));
      expect(damages.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(500);
    }
  }, 60_000);
}
