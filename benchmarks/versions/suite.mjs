/** Measures the server's microseconds per check when two versions of a limiter share a key. Contenders take turns. */
import { createLimiter } from 'sluice';
import { redis } from 'sluice/redis';
import { startServer } from '../redis/server.mjs';

const ROUNDS = 9;
const KEYS = 100;
const ENTRIES = 2000;

/**
 * Each contender gets a function that creates a limiter under the contender's name, and returns the function to measure, which
 * receives the number of the check.
 */
const CONTENDERS = {
  'one version, gcra': (make) => {
    const limiter = make('1000000/h');
    return (i) => limiter.take(`k${i % KEYS}`);
  },
  'two versions in turn, gcra and fixed window': (make) => {
    const versions = [make('1000000/h'), make('1000000/h fixed-window')];
    return (i) => versions[i % 2].take(`k${(i >> 1) % KEYS}`);
  },
  [`gcra beside a sliding log of ${ENTRIES} entries`]: async (make) => {
    const log = make('1000000/h sliding-log');
    for (let i = 0; i < ENTRIES; i++) await log.take('k');
    const limiter = make('1000000/h');
    return () => limiter.take('k');
  },
};

export async function run({ quick }) {
  const server = await startServer();
  const store = redis(server.control, { deadline: '30s' });
  const figures = new Map(Object.keys(CONTENDERS).map((name) => [name, []]));
  for (let round = 0; round < (quick ? 1 : ROUNDS); round++) {
    for (const [name, contender] of Object.entries(CONTENDERS)) {
      const check = await contender((policies) =>
        createLimiter(policies, { store, name: `${name} ${round}` }),
      );
      for (let i = 0; i < 2 * KEYS; i++) await check(i);
      await server.control.config('RESETSTAT');
      for (let i = 0; i < (quick ? 200 : 4000); i++) await check(i);
      const { calls, usec } = await server.spent();
      figures.get(name).push(usec / calls);
    }
  }
  await server.stop();
  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  const base = median(figures.get('one version, gcra'));
  const rows = [...figures].map(([name, values]) => {
    const own = median(values);
    return `| ${name} | ${own.toFixed(1)} | ${(own / base).toFixed(2)} |`;
  });
  return [
    `Redis ${server.version}, one check in flight; median of ${ROUNDS} rounds.`,
    '',
    '| a key that is used by | server, µs per check | times one version |',
    '|---|---|---|',
    ...rows,
  ].join('\n');
}
