import type { ReadonlySignal } from '@preact/signals';

/** Subscribes the calling component or effect to these signals. */
export function follow(...signals: readonly ReadonlySignal<unknown>[]): void {
  for (const one of signals) void one.value;
}
