import { expect, test } from 'vitest';
import { steady } from './book.ts';
import { type Trouble, troubleBy } from './trouble.ts';
import { isTooMuch, Tenths, Weather } from './weather.ts';

const after = (calmSince: number): Trouble => ({ ...troubleBy(() => ({})), calmSince });

/** Tried several times: the machine may stand still just then. */
function fairBy(troubles: readonly Trouble[], store: string, asked: number): boolean {
  return [1, 2, 3, 4, 5].some(() => {
    const weather = new Weather(troubles.map((trouble) => ['redis', trouble]));
    const isFair = weather.isFair(store, asked);
    weather.stop();
    return isFair;
  });
}

test('a fault spoils a second and a half of its own store, and of no other', () => {
  const now = steady();
  expect(fairBy([after(now - 1000)], 'redis', now)).toBe(false);
  expect(fairBy([after(now - 2000)], 'redis', now)).toBe(true);
  expect(fairBy([after(now - 2000), after(Infinity)], 'redis', now)).toBe(false);
  expect(fairBy([after(Infinity)], 'postgres', now)).toBe(true);
});

test('a machine that stands still makes no fair weather, and how long it did is known', () => {
  const weather = new Weather([]);
  for (const start = steady(); steady() - start < 100; );
  expect(weather.isFair('redis')).toBe(false);
  expect(weather.late()).toBeGreaterThan(80);
  weather.stop();
});

test('half a second and a hundredth may be missed, however much was asked in it', () => {
  const missed = new Tenths();
  for (let at = 0; at < 800; at++) missed.add(at);
  expect(missed.count).toBe(8);
  expect(isTooMuch(missed.count, 200)).toBe(true);
  expect(isTooMuch(missed.count, 300)).toBe(false);
  // A short while says nothing.
  expect(isTooMuch(missed.count, 100)).toBe(false);
});
