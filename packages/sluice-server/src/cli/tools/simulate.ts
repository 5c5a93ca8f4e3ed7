/** sluice simulate: shows what a limit does to synthetic traffic. Time is simulated, so the command finishes without waiting. */
import { type Flags, readArgs } from '../args.ts';
import type { Output } from '../check.ts';
import { UsageError } from '../../config/usage-error.ts';
import { POLICY_FLAGS, trialOf } from './policy.ts';
import { roundDuration, showDuration, durationOf } from './duration.ts';
import { Tally } from './tally.ts';
import { parseTraffic, randomFrom } from './traffic.ts';

export const SIMULATE_FLAGS: Flags = {
  ...POLICY_FLAGS,
  traffic: { value: 'KIND', help: 'steady:12/s, poisson:12/s (default poisson:10/s) or burst:100@10s' },
  for: { value: 'TIME', help: 'how long the traffic lasts; default 1m' },
  keys: { value: 'N', help: 'number of keys among which requests are distributed at random; default 1' },
  cost: { value: 'N', help: 'cost of each request; default 1' },
  every: {
    value: 'TIME',
    help: 'time covered by each row of the output; by default chosen to give about 20 rows',
  },
  seed: { value: 'N', help: 'seed of the random numbers; default 1' },
};

const ROWS = 20;
const MAX_REQUESTS = 100_000_000;

export function simulateCommand(argv: readonly string[], { out }: Output): number {
  const args = readArgs(argv, SIMULATE_FLAGS);
  const [text, ...more] = args.positionals;
  if (more.length > 0) throw new UsageError(`unexpected argument: ${more.join(' ')}`);
  const trial = trialOf(args, args.text('policy') ?? text);
  const traffic = parseTraffic(args.text('traffic') ?? 'poisson:10/s');
  const length = durationOf('--for', args.text('for') ?? '1m');
  const keys = Math.max(1, args.integer('keys') ?? 1);
  const cost = args.integer('cost') ?? 1;
  const every = args.text('every');
  const step = every === undefined ? roundDuration(length / ROWS) : durationOf('--every', every);
  const random = randomFrom(args.integer('seed') ?? 1);
  const tally = new Tally(step);
  for (const now of traffic(random)) {
    if (now >= length) break;
    if (tally.total >= MAX_REQUESTS)
      throw new UsageError(`more than ${MAX_REQUESTS} requests; choose a shorter --for`);
    const key = keys === 1 ? '0' : String(Math.floor(random() * keys));
    tally.add(now, trial.take(key, cost, START + now));
  }
  out(`${trial.text}, ${args.text('traffic') ?? 'poisson:10/s'} for ${showDuration(length)}\n\n`);
  out(tally.table((start) => showDuration(start)));
  out(`\n${tally.summary()}`);
  return 0;
}

/** A Monday at midnight UTC, so that calendar windows start with the simulation. */
const START = Date.UTC(2024, 0, 1);
