import type { ReadonlySignal } from '@preact/signals';

/** Whoever calls this runs again when one of these changes. */
export function follow(...signals: readonly ReadonlySignal<unknown>[]): void {
  for (const one of signals) void one.value;
}
