/** Moves the playhead, which is the instant of the run that the page shows. It is at the end until the user plays or scrubs. */
import { computed, signal } from '@preact/signals';
import type { Millis } from 'sluice';
import { traffic } from './store.ts';

/** The position of the playhead. It is a fraction of the run, so that it stays in place when the length changes. */
export const position = signal(1);
export const isPlaying = signal(false);
export const SPEEDS = [0.25, 0.5, 1, 2, 5, 10, 50, 200, 1000, 10_000] as const;
const chosenSpeed = signal<number | undefined>(undefined);

/** The longest playing time at the default speed. */
const PATIENT: Millis = 12_000;

export const speed = computed(
  () =>
    chosenSpeed.value ?? SPEEDS.find((one) => one >= 1 && traffic.value.length / one <= PATIENT) ?? 10_000,
);
export function setSpeed(value: number): void {
  chosenSpeed.value = value;
}

export const playhead = computed<Millis>(() => position.value * traffic.value.length);

let last: Millis | undefined;

function tick(now: Millis): void {
  if (!isPlaying.peek()) return;
  const passed = last === undefined ? 0 : now - last;
  last = now;
  position.value = Math.min(1, position.peek() + (passed * speed.peek()) / traffic.peek().length);
  if (position.peek() >= 1) isPlaying.value = false;
  else requestAnimationFrame(tick);
}

function play(): void {
  if (isPlaying.peek()) return;
  if (position.peek() >= 1) position.value = 0;
  last = undefined;
  isPlaying.value = true;
  requestAnimationFrame(tick);
}

export function pause(): void {
  isPlaying.value = false;
}

export function toggle(): void {
  if (isPlaying.peek()) pause();
  else play();
}

/** Moves the playhead. If the run is playing, playback continues from there. */
export function scrub(to: number): void {
  position.value = Math.min(1, Math.max(0, to));
}
