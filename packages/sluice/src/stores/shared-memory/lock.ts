/**
 * A lock word per stripe: 0 when free, otherwise a token of whoever holds it. Its lowest bit says that the journal is
 * armed: from then on, whoever takes over carries it out.
 *
 * A holder that shows no sign of life is taken for dead. If it was only slow, it finds that its token is gone when it
 * wants to arm the journal, has written nothing until then, and starts anew.
 */
import { LOCK, WAITING } from './layout.ts';

/** Looks at the lock before going to sleep. */
const SPINS = 200;
/** Milliseconds of a sleep, and the sleeps through which one holder may be seen before it is taken for dead: 100 ms. */
const NAP = 5;
const NAPS = 20;

/** How the lock was had. */
export type Hold = 'free' | 'dead' | 'dead and armed';

/** A token's parts: armed, thread, number of the hold. */
const ARMED = 1;
const THREADS = 1023;
const NEXT = 2048;

export class Lock {
  private readonly words: Int32Array;
  private token: number;

  constructor(words: Int32Array, thread: number) {
    this.words = words;
    this.token = (1 + (thread % THREADS)) << 1;
  }

  /** Waits until the lock of this head is ours. */
  take(head: number): Hold {
    const { words } = this;
    const at = head + LOCK;
    this.token = (this.token + NEXT) | 0;
    const { token } = this;
    if (Atomics.compareExchange(words, at, 0, token) === 0) return 'free';
    for (let i = 0; i < SPINS; i++) {
      if (Atomics.load(words, at) === 0 && Atomics.compareExchange(words, at, 0, token) === 0) return 'free';
    }
    Atomics.add(words, head + WAITING, 1);
    try {
      return this.sleepFor(at, token);
    } finally {
      Atomics.sub(words, head + WAITING, 1);
    }
  }

  private sleepFor(at: number, token: number): Hold {
    const { words } = this;
    let holder = 0;
    // Naps are counted, and not time: when the whole process was stopped, nobody has died.
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

  /** False: somebody took over. */
  arm(head: number): boolean {
    const { token } = this;
    return Atomics.compareExchange(this.words, head + LOCK, token, token | ARMED) === token;
  }

  /** False: somebody took over. */
  release(head: number, armed: boolean): boolean {
    const held = armed ? this.token | ARMED : this.token;
    const released = Atomics.compareExchange(this.words, head + LOCK, held, 0) === held;
    if (released && Atomics.load(this.words, head + WAITING) > 0) Atomics.notify(this.words, head + LOCK, 1);
    return released;
  }
}

/** The main thread of a browser may not sleep; it goes round instead. */
const maySleep: boolean = (() => {
  try {
    return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1) === 'not-equal';
  } catch {
    return false;
  }
})();

/** True: a nap has passed, and the word is still the same. */
function nap(words: Int32Array, at: number, seen: number): boolean {
  if (maySleep) return Atomics.wait(words, at, seen, NAP) === 'timed-out';
  const until = performance.now() + NAP;
  while (performance.now() < until) if (Atomics.load(words, at) !== seen) return false;
  return true;
}
