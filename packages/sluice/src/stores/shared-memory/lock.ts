/**
 * Each stripe has a lock word, which is 0 if the lock is free and otherwise a token that identifies the holder. The lowest bit of
 * the token is 1 while the journal is armed. A thread that takes over the lock while this bit is 1 completes the change of the
 * previous holder.
 *
 * A holder that makes no progress is presumed dead. If it was only slow, it finds its token replaced when it wants to arm the
 * journal. It has written nothing before that, so it starts again from scratch.
 */
import { LOCK, WAITING } from './layout.ts';

/**
 * Number of times that a waiter reads the lock before it sleeps, and the maximum number of empty loops between two readings. A
 * check holds the lock for a fraction of a microsecond, and waking a sleeping thread takes many times as long. Frequent readings
 * would slow the holder down.
 */
const SPINS = 200;
const LONGEST_PAUSE = 64;
/**
 * The length of a sleep in milliseconds. If the holder is still the same after several sleeps, 100 ms in total, it is presumed
 * dead.
 */
const NAP = 5;
const NAPS = 20;

/** How the lock was obtained. It was free, or its holder was presumed dead, with or without an armed journal. */
export type Hold = 'free' | 'dead' | 'dead and armed';

/** The parts of a token: the armed bit, the thread, and a counter of that thread's locks. */
export const ARMED = 1;
const THREADS = 1023;
const NEXT = 2048;

export class Lock {
  private readonly words: Int32Array;
  private token: number;

  constructor(words: Int32Array, thread: number) {
    this.words = words;
    this.token = (1 + (thread % THREADS)) << 1;
  }

  /** The token of this thread's next lock. */
  nextToken(): number {
    this.token = (this.token + NEXT) | 0;
    return this.token;
  }

  /** Takes the lock of the stripe if it is free. */
  tryTake(head: number): boolean {
    return Atomics.compareExchange(this.words, head + LOCK, 0, this.nextToken()) === 0;
  }

  /** Takes the lock of another stripe with the same token, if that lock is free. */
  tryTakeToo(head: number): boolean {
    return Atomics.compareExchange(this.words, head + LOCK, 0, this.token) === 0;
  }

  /**
   * Called after an attempt to take the lock has failed. Takes the lock with the same token if it becomes free soon, and returns
   * whether it did.
   */
  spin(head: number): boolean {
    const { words, token } = this;
    const at = head + LOCK;
    for (let i = 0, pause = 1; i < SPINS; i++) {
      if (Atomics.load(words, at) === 0 && Atomics.compareExchange(words, at, 0, token) === 0) return true;
      for (let n = 0; n < pause; n++);
      if (pause < LONGEST_PAUSE) pause *= 2;
    }
    return false;
  }

  /** Called after `tryTake` or `tryTakeToo` has failed. Waits until this thread holds the stripe's lock. */
  wait(head: number): Hold {
    if (this.spin(head)) return 'free';
    const { words, token } = this;
    Atomics.add(words, head + WAITING, 1);
    try {
      return this.sleepFor(head + LOCK, token);
    } finally {
      Atomics.sub(words, head + WAITING, 1);
    }
  }

  private sleepFor(at: number, token: number): Hold {
    const { words } = this;
    let holder = 0;
    // Counts sleeps instead of measuring time, because the holder must not be presumed dead if the whole process was stopped.
    for (let naps = 0; ; ) {
      const seen = Atomics.compareExchange(words, at, 0, token);
      if (seen === 0) return 'free';
      if (seen !== holder) {
        holder = seen;
        naps = 0;
      }
      if (naps === NAPS && Atomics.compareExchange(words, at, seen, token) === seen)
        return (seen & ARMED) === 0 ? 'dead' : 'dead and armed';
      if (nap(words, at, seen)) naps++;
    }
  }

  isOurs(head: number): boolean {
    return Atomics.load(this.words, head + LOCK) === this.token;
  }

  /** Arms the journal. Returns false if another thread has taken over the lock. */
  arm(head: number): boolean {
    const { token } = this;
    return Atomics.compareExchange(this.words, head + LOCK, token, token | ARMED) === token;
  }

  /** Ends the change in the journal without releasing the lock. Does nothing if another thread has taken over the lock. */
  disarm(head: number): void {
    Atomics.compareExchange(this.words, head + LOCK, this.token | ARMED, this.token);
  }

  /** Releases the lock. Returns false if another thread has taken over the lock. */
  release(head: number, armed: boolean): boolean {
    const held = armed ? this.token | ARMED : this.token;
    const released = Atomics.compareExchange(this.words, head + LOCK, held, 0) === held;
    if (released && Atomics.load(this.words, head + WAITING) > 0) Atomics.notify(this.words, head + LOCK, 1);
    return released;
  }
}

/** The main thread of a browser must not sleep, so it spins instead. */
const maySleep: boolean = (() => {
  try {
    return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1) === 'not-equal';
  } catch {
    return false;
  }
})();

/** Returns true if a whole sleep has passed and the word is still the same. */
function nap(words: Int32Array, at: number, seen: number): boolean {
  if (maySleep) return Atomics.wait(words, at, seen, NAP) === 'timed-out';
  const until = performance.now() + NAP;
  while (performance.now() < until) if (Atomics.load(words, at) !== seen) return false;
  return true;
}
