/**
 * Taking turns with other processes. What a process gives back, its own next waiter asks for in the same moment, so that
 * waiters elsewhere would never find a free place. Therefore a process that has served its own waiters for a while pauses
 * after a release, for a little longer than the others' polls are apart.
 */
import { systemClock } from '../internal/clock.ts';
import type { Decision, Millis } from '../engine/contract.ts';

/** How often the head of a queue asks again for what a holder elsewhere may have released. */
const SHORTEST_POLL: Millis = 20;
const LONGEST_POLL: Millis = 100;
/** The same where nothing is held: only a refund, a reset or a changed limit makes room earlier than announced. */
const RATE_POLL: Millis = 1000;
/** A pause, in polls: longer than the longest of them. */
const PAUSE = 1.5;
/** How long a process serves its own waiters before it pauses: while others wait, and at most, while it is alone. */
const SHORTEST_STINT: Millis = 250;
const LONGEST_STINT: Millis = 4000;
/** For how long a process that was seen to hold a place counts as one that waits. */
const RIVAL: Millis = 10_000;
/** Keys whose turns are remembered, and their longest; others are served without pauses. */
const MOST_KEYS = 10_000;
const LONGEST_KEY = 1024;

/** What this process knows of the turns of a key. */
interface Turn {
  /** It serves its own waiters while no place stays free for others. */
  isOn: boolean;
  /** When it is to pause. */
  until: Millis;
  /** How long it serves between two pauses. */
  length: Millis;
  /** When a place was given back that no waiter here has asked for since; 0: none was. */
  released: Millis;
  /** It has paused, and not heard yet whether another process has used that. */
  paused: boolean;
  /** When another process was last seen to hold a place; 0: never. */
  rival: Millis;
}

export interface Turns {
  /** A place was given back. */
  released(key: string): void;
  /** How long to wait before asking; 0: not at all. */
  pauseFor(key: string, queues: number): Millis;
  /** The store has answered the head of the queue. `behind`: how many wait behind it. */
  answered(key: string, decision: Decision, behind: number): void;
}

/** How long to wait before asking again. With many queues each of them asks less often: about 1,000 times a second in all. */
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
      // Others have had their chance while nobody here asked.
      if (now - turn.released > pause) turn.until = now + turn.length;
      if (now < turn.until) return 0;
      turn.paused = true;
      return pause;
    },
    answered(key, { allowed, remaining }, behind) {
      const turn = turnOf(key);
      const now = systemClock.now();
      if (!allowed) {
        // Its own holders are no surprise while it serves; after a pause they are not the ones that took the place.
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
