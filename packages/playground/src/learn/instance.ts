/**
 * Runs a limiter for a picture. Its clock advances while the picture is visible, its traffic repeats, and readers can add
 * requests. It starts with some history, so that the picture is not empty.
 */
import { createLimiter, memory, type Millis, type Policies } from 'sluice';

/** The duration that a picture shows. */
export const SHOWN: Millis = 20_000;
const SAMPLE: Millis = 50;

export interface Ask {
  readonly at: Millis;
  readonly allowed: boolean;
  /** When the request passes. Later than `at` if requests wait for their turn. */
  readonly passes: Millis;
}

export interface InstanceOptions {
  readonly policies: Policies;
  /** The instants of one round of traffic, and the duration of the round. */
  readonly script: readonly Millis[];
  readonly round: Millis;
  /** Whether requests wait for their turn instead of being denied. */
  readonly waits?: boolean;
}

export interface Instance {
  readonly now: Millis;
  readonly limit: number;
  readonly window: Millis;
  /** The level of the tank, which is the remaining units or the number of waiting requests. */
  readonly level: number;
  readonly shows: 'left' | 'waiting';
  /** The requests that a picture can show, oldest first. */
  readonly asks: readonly Ask[];
  readonly levels: readonly { readonly at: Millis; readonly level: number }[];
  advance(by: Millis): void;
  ask(): Ask;
}

const KEY = 'reader';

export function createInstance({ policies, script, round, waits = false }: InstanceOptions): Instance {
  let now = 0;
  const limiter = createLimiter(policies, { store: memory({ clock: { now: () => now } }) });
  const [{ limit, window }] = limiter.peek(KEY).policies;
  const asks: Ask[] = [];
  const levels: { at: Millis; level: number }[] = [];
  let asked = 0;

  function ask(): Ask {
    const entry = waits ? booked() : { at: now, allowed: limiter.take(KEY).allowed, passes: now };
    asks.push(entry);
    sample();
    return entry;
  }

  function booked(): Ask {
    const { delay } = limiter.reserve(KEY, { maxDelay: SHOWN / 4 });
    return { at: now, allowed: delay < Infinity, passes: now + (delay < Infinity ? delay : 0) };
  }

  function waiting(): number {
    return asks.filter(({ passes }) => passes > now).length;
  }

  function sample(): void {
    levels.push({ at: now, level: waits ? waiting() : limiter.peek(KEY).policies[0].remaining });
  }

  /** The next instant of the script. */
  function due(): Millis {
    return Math.floor(asked / script.length) * round + script[asked % script.length];
  }

  function advance(by: Millis): void {
    const end = now + by;
    while (now < end) {
      const next = Math.min(end, now + SAMPLE, Math.max(now, due()));
      now = next;
      while (due() <= now) {
        asked++;
        ask();
      }
      sample();
    }
    const gone = now - SHOWN;
    while (asks.length > 0 && Math.max(asks[0].at, asks[0].passes) < gone) asks.shift();
    while (levels.length > 2 && levels[1].at < gone) levels.shift();
  }

  advance(SHOWN);
  return {
    get now() {
      return now;
    },
    get level() {
      return levels[levels.length - 1].level;
    },
    shows: waits ? 'waiting' : 'left',
    limit,
    window,
    asks,
    levels,
    advance,
    ask,
  };
}
