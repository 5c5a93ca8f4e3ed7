/** The limit that `simulate` and `replay` try: policy text, or a limit of a configuration file. */
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
import { UsageError } from '../../config/usage-error.ts';

export const POLICY_FLAGS: Flags = {
  policy: { value: 'TEXT', help: "limit to try, such as '10/s burst 20'" },
  config: { value: 'FILE', help: 'read the limit from this configuration file instead' },
  limit: { value: 'NAME', help: 'name of the limit in the configuration' },
};

/** A limit with its own clock, which `take` moves forward. */
export interface Trial {
  readonly text: string;
  take(key: string, cost: number, now: Millis): Decision;
}

export function trialOf(args: Args, text: string | undefined): Trial {
  const file = args.text('config');
  if (file === undefined) {
    if (text === undefined)
      throw new UsageError("no limit given. Pass a policy such as '10/s burst 20', or --config and --limit");
    return textTrial(text);
  }
  const { limits } = loadConfig([file]);
  const config = limits.get(args.text('limit') ?? '');
  if (config === undefined)
    throw new UsageError(
      `--limit must be one of ${[...limits.keys()].join(', ')}; got ${args.text('limit') ?? 'nothing'}`,
    );
  const clock = { time: 0, now: () => clock.time };
  const limit = openLimit(config, memory({ clock }));
  return { text: config.text, take: taker(clock, (key, cost) => limit.take(key, { cost })) };
}

/** Throws a UsageError if the text is not a valid policy. */
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

/** Log lines may be out of order, but the clock must not move backward. */
function taker(
  clock: { time: Millis } & Pick<Clock, 'now'>,
  take: (key: string, cost: number) => MaybePromise<Decision>,
): Trial['take'] {
  return (key, cost, now) => {
    clock.time = Math.max(clock.time, now);
    return take(key, cost) as Decision;
  };
}
