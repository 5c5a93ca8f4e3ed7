import { expect, test } from 'vitest';
import { steady } from './ledger.ts';
import { type FaultInjector, faultInjector } from './fault-injection.ts';
import { isUnavailableTooOften, Tenths, FaultFree } from './fault-free.ts';

const after = (faultFreeSince: number): FaultInjector => ({ ...faultInjector(() => ({})), faultFreeSince });

/** Retries several times, because the machine may stall during an attempt. */
function isFaultFreeWith(injectors: readonly FaultInjector[], store: string, asked: number): boolean {
  return [1, 2, 3, 4, 5].some(() => {
    const faultFree = new FaultFree(injectors.map((injector) => ['redis', injector]));
    const isFaultFree = faultFree.isFaultFree(store, asked);
    faultFree.stop();
    return isFaultFree;
  });
}

test('a fault interrupts the fault-free period of its own store only, until 1.5 s after the fault', () => {
  const now = steady();
  expect(isFaultFreeWith([after(now - 1000)], 'redis', now)).toBe(false);
  expect(isFaultFreeWith([after(now - 2000)], 'redis', now)).toBe(true);
  expect(isFaultFreeWith([after(now - 2000), after(Infinity)], 'redis', now)).toBe(false);
  expect(isFaultFreeWith([after(Infinity)], 'postgres', now)).toBe(true);
});

test('a stalled machine interrupts the fault-free period, and the delay is measured', () => {
  const faultFree = new FaultFree([]);
  for (const start = steady(); steady() - start < 100; );
  expect(faultFree.isFaultFree('redis')).toBe(false);
  expect(faultFree.late()).toBeGreaterThan(80);
  faultFree.stop();
});

test('a store may be unavailable for half a second plus one percent of the observed time', () => {
  const missed = new Tenths();
  for (let at = 0; at < 800; at++) missed.add(at);
  expect(missed.count).toBe(8);
  expect(isUnavailableTooOften(missed.count, 200)).toBe(true);
  expect(isUnavailableTooOften(missed.count, 300)).toBe(false);
  // The observed time is too short for a verdict.
  expect(isUnavailableTooOften(missed.count, 100)).toBe(false);
});
