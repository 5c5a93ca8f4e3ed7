/** The system's clock, and the alarms of those who wait: one timer for all of them. */
import type { Clock, Millis } from './contract.ts';

interface Alarm {
  readonly due: Millis;
  readonly order: number;
  wake: (() => void) | undefined;
}

/** Who is woken when: a binary heap by due time, first set first woken. A cancelled alarm is dropped when it comes up. */
export class Alarms {
  private readonly heap: Alarm[] = [];
  private order = 0;

  set(due: Millis, wake: () => void): () => void {
    const alarm: Alarm = { due, order: this.order++, wake };
    this.heap.push(alarm);
    this.rise(this.heap.length - 1);
    return () => {
      alarm.wake = undefined;
    };
  }

  /** When the next alarm is due; Infinity when nobody waits. */
  next(): Millis {
    while (this.heap.length > 0 && this.heap[0]?.wake === undefined) this.pop();
    return this.heap[0]?.due ?? Infinity;
  }

  /** Wakes the next one. */
  ring(): void {
    this.pop()?.wake?.();
  }

  private pop(): Alarm | undefined {
    const first = this.heap[0];
    const last = this.heap.pop();
    if (last !== undefined && last !== first) {
      this.heap[0] = last;
      this.sink(0);
    }
    return first;
  }

  private rise(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.earlier(at, parent)) return;
      this.swap(at, parent);
      at = parent;
    }
  }

  private sink(from: number): void {
    let at = from;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.heap.length && this.earlier(child, least)) least = child;
      }
      if (least === at) return;
      this.swap(at, least);
      at = least;
    }
  }

  private earlier(a: number, b: number): boolean {
    const x = this.heap[a];
    const y = this.heap[b];
    return x.due < y.due || (x.due === y.due && x.order < y.order);
  }

  private swap(a: number, b: number): void {
    const alarm = this.heap[a];
    this.heap[a] = this.heap[b];
    this.heap[b] = alarm;
  }
}

/** setTimeout fires at once above this. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** A clock over a reading function: waits with one timer, which holds the process only while somebody waits. */
export function clockFrom(now: () => Millis): Clock {
  const alarms = new Alarms();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let timerDue = Infinity;

  function arm(): void {
    const due = alarms.next();
    if (due === timerDue && timer !== undefined) return;
    clearTimeout(timer);
    timer = undefined;
    timerDue = due;
    if (due === Infinity) return;
    timer = setTimeout(ring, Math.min(Math.max(Math.ceil(due - performance.now()), 0), LONGEST_TIMEOUT));
  }

  function ring(): void {
    timer = undefined;
    while (alarms.next() <= performance.now()) alarms.ring();
    arm();
  }

  return {
    now,
    after(delay, wake) {
      const cancel = alarms.set(performance.now() + delay, wake);
      arm();
      return () => {
        cancel();
        arm();
      };
    },
  };
}

const origin = performance.timeOrigin;
/** Bound: reading the clock is most of a check, and this is its cheapest form. */
const elapsed = performance.now.bind(performance);

/** Epoch milliseconds that never go back and are finer than a microsecond. */
export const systemClock: Clock = clockFrom(() => origin + elapsed());
