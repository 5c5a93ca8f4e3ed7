/** The limit that simulate and replay try: written on the command line, or one of a configuration. */
import {
  createLimiter,
  type Decision,
  type Limiter,
  type MaybePromise,
  memory,
  type Millis,
  SluiceError,
} from 'sluice';
import type { Clock } from 'sluice/store';
import type { Args, Flags } from '../args.ts';
import { loadConfig } from '../../config/config.ts';
import { openLimit } from '../../core/limit.ts';
import { UsageError } from '../../store.ts';

export const POLICY_FLAGS: Flags = {
  policy: { value: 'TEXT', help: "the limit, such as '10/s burst 20'" },
  config: { value: 'FILE', help: 'in its place: a configuration …' },
  limit: { value: 'NAME', help: '… and the name of a limit in it' },
};

/** A limit in a time of its own. */
export interface Trial {
  readonly text: string;
  take(key: string, cost: number, now: Millis): Decision;
}

export function trialOf(args: Args, text: string | undefined): Trial {
  const file = args.text('config');
  if (file === undefined) {
    if (text === undefined)
      throw new UsageError("which limit? Such as '10/s burst 20', or --config and --limit");
    return textTrial(text);
  }
  const { limits } = loadConfig([file]);
  const config = limits.get(args.text('limit') ?? '');
  if (config === undefined)
    throw new UsageError(
      `--limit must be one of ${[...limits.keys()].join(', ')}; got ${args.text('limit')}`,
    );
  const clock = { time: 0, now: () => clock.time };
  const limit = openLimit(config, memory({ clock }));
  return { text: config.text, take: taker(clock, (key, cost) => limit.take(key, { cost })) };
}

/** Throws a UsageError for what is no policy. */
export function textTrial(text: string): Trial {
  const clock = { time: 0, now: () => clock.time };
  try {
    const limiter: Limiter = createLimiter(text, { store: memory({ clock }) });
    return { text, take: taker(clock, (key, cost) => limiter.take(key, cost)) };
  } catch (error) {
    if (error instanceof SluiceError) throw new UsageError(error.message);
    throw error;
  }
}

/** Logs are not always in order; time is. */
function taker(
  clock: { time: Millis } & Pick<Clock, 'now'>,
  take: (key: string, cost: number) => MaybePromise<Decision>,
): Trial['take'] {
  return (key, cost, now) => {
    clock.time = Math.max(clock.time, now);
    return take(key, cost) as Decision;
  };
}
