/**
 * Shares turns fairly with other processes. When a process releases a place, its own next waiter takes it immediately, so waiters
 * in other processes would never find a free place. Therefore a process that has served its own waiters for a while pauses after a
 * release, for longer than the interval at which other processes poll.
 */
import { systemClock } from '../internal/clock.ts';
import type { Decision, Millis } from '../engine/contract.ts';

/**
 * Bounds of the interval, in milliseconds, at which the head of a queue polls for a place that a holder in another process may have
 * released.
 */
const SHORTEST_POLL: Millis = 20;
const LONGEST_POLL: Millis = 100;
/**
 * Milliseconds between polls for policies without held places, where only a refund, a reset or a changed limit makes units
 * available early.
 */
const RATE_POLL: Millis = 1000;
/**
 * The length of a pause, as a multiple of the longest poll interval. It must be above 1, so that every other process polls during
 * the pause.
 */
const PAUSE = 1.5;
/**
 * How long a process serves its own waiters before it pauses. SHORTEST_STINT applies while other processes wait. Otherwise, the
 * time doubles after each pause, up to LONGEST_STINT.
 */
const SHORTEST_STINT: Millis = 250;
const LONGEST_STINT: Millis = 4000;
/** How long another process counts as waiting after it was last seen to hold a place. */
const RIVAL: Millis = 10_000;
/**
 * The maximum number of keys whose turns are remembered, and the maximum length of such a key. Other keys are served without
 * pauses.
 */
const MOST_KEYS = 10_000;
const LONGEST_KEY = 1024;

/** The state of a key's turns, as far as this process knows it. */
interface Turn {
  /** Whether this process serves its own waiters and leaves no place free for others. */
  isOn: boolean;
  /** The instant of the next pause. */
  until: Millis;
  /** How long this process serves between two pauses. */
  length: Millis;
  /** When a place was released, if no waiter in this process has tried to take it since. Otherwise 0. */
  released: Millis;
  /** Whether this process has paused and does not know yet if another process used the pause. */
  paused: boolean;
  /** When another process was last seen to hold a place. 0 if never. */
  rival: Millis;
}

export interface Turns {
  /** Called when a place was released. */
  released(key: string): void;
  /** How long to pause before calling the store. 0 for no pause. */
  pauseFor(key: string, queues: number): Millis;
  /** Called when the store has answered the head of the queue. `behind` is the number of waiters behind it. */
  answered(key: string, decision: Decision, behind: number): void;
}

/**
 * How long to wait before the next poll. If there are many queues, each of them polls less often, so that the total stays at about
 * 1,000 polls a second.
 */
export function pollAfter(isHeld: boolean, queues: number): Millis {
  return longestPoll(isHeld, queues) * (0.75 + Math.random() / 4);
}

function longestPoll(isHeld: boolean, queues: number): Millis {
  return isHeld ? Math.min(Math.max(SHORTEST_POLL, queues), LONGEST_POLL) : Math.max(RATE_POLL, queues);
}

export function turnsOf(): Turns {
  const turns = new Map<string, Turn>();

  function turnOf(key: string): Turn {
    const known = turns.get(key);
    if (known !== undefined) return known;
    const turn = { isOn: false, until: 0, length: SHORTEST_STINT, released: 0, paused: false, rival: 0 };
    const [oldest] = turns.keys();
    if (turns.size >= MOST_KEYS && oldest !== undefined) turns.delete(oldest);
    if (key.length <= LONGEST_KEY) turns.set(key, turn);
    return turn;
  }

  return {
    released(key) {
      const turn = turns.get(key);
      if (turn !== undefined) turn.released = systemClock.now();
    },
    pauseFor(key, queues) {
      const turn = turns.get(key);
      if (turn === undefined || !turn.isOn || turn.released === 0) return 0;
      const now = systemClock.now();
      const pause = PAUSE * longestPoll(true, queues);
      // For longer than a pause, no waiter in this process has tried to take the place, so other processes have already had a
      // chance.
      if (now - turn.released > pause) turn.until = now + turn.length;
      if (now < turn.until) return 0;
      turn.paused = true;
      return pause;
    },
    answered(key, { allowed, remaining }, behind) {
      const turn = turnOf(key);
      const now = systemClock.now();
      if (!allowed) {
        // While this process serves its own waiters, a denial is expected, because its own callers hold the places. After a pause,
        // a denial means that another process took the place.
        if (turn.isOn && !turn.paused) return;
        turn.rival = now;
        turn.isOn = false;
      } else if (remaining > 0 && behind === 0) turn.isOn = false;
      else {
        turn.released = 0;
        if (turn.isOn && !turn.paused) return;
        if (now - turn.rival < RIVAL) turn.length = SHORTEST_STINT;
        else if (turn.paused) turn.length = Math.min(2 * turn.length, LONGEST_STINT);
        turn.until = now + turn.length;
        turn.isOn = true;
      }
      turn.paused = false;
    },
  };
}
