/**
 * A limiter that lives: its clock goes on while somebody looks, its traffic repeats, and whoever reads may ask too.
 * It begins with a past, so that there is something to see.
 */
import { createLimiter, memory, type Millis, type Policies } from 'sluice';

/** What a picture shows at once. */
export const SHOWN: Millis = 20_000;
const SAMPLE: Millis = 50;

export interface Ask {
  readonly at: Millis;
  readonly allowed: boolean;
  /** When it passes: later than it asked, where requests wait for their turn. */
  readonly passes: Millis;
}

export interface InstanceOptions {
  readonly policies: Policies;
  /** Instants of one round of traffic, and how long the round is. */
  readonly script: readonly Millis[];
  readonly round: Millis;
  /** Requests wait for their turn instead of being denied. */
  readonly waits?: boolean;
}

export interface Instance {
  readonly now: Millis;
  readonly limit: number;
  readonly window: Millis;
  /** What the picture's tank shows: what is left, or how many wait. */
  readonly level: number;
  readonly shows: 'left' | 'waiting';
  /** The newest last; only what a picture can show. */
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

  /** The script's next instant. */
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
