/** The timers of clocks that are advanced manually. */
import type { Millis } from '../engine/contract.ts';

interface Alarm {
  readonly due: Millis;
  readonly order: number;
  wake: (() => void) | undefined;
}

/**
 * Timers in a binary heap, ordered by due time. Timers that are due at the same time fire in the order in which they were set.
 * Canceled timers are skipped.
 */
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

  /** When the next timer is due. Infinity if no timer is set. */
  next(): Millis {
    while (this.heap.length > 0 && this.heap[0]?.wake === undefined) this.pop();
    return this.heap[0]?.due ?? Infinity;
  }

  /** Fires the next timer. */
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
