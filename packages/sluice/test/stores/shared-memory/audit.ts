/**
 * Checks that a buffer's lists match its slots and that no unit of memory belongs to two rows. Call it only while no thread is
 * active.
 */
import { expect } from 'vitest';
import {
  CHAIN,
  chainLength,
  COUNT,
  FREE_SLOT,
  FREE_UNIT,
  FRESH_SLOT,
  FRESH_UNIT,
  headsOf,
  layoutOf,
  LOCK,
  SLOT,
  UNITS_LEFT,
} from '../../../src/stores/shared-memory/layout.ts';

export function audit(handle: SharedArrayBuffer): { rows: number; units: number } {
  const layout = layoutOf(handle);
  const { words, slotLinksAt, unitLinksAt, slotsAt, bucketsAt, buckets } = layout;
  const total = { rows: 0, units: 0 };
  for (const head of headsOf(layout)) {
    expect(words[head + LOCK]).toBe(0);
    const list = (first: number, links: number): number[] => {
      const members: number[] = [];
      for (let one = first; one !== 0; one = words[head + links + one - 1]) {
        members.push(one);
        expect(members.length).toBeLessThanOrEqual(layout.slots + layout.units);
      }
      return members;
    };
    const linked = Array.from({ length: buckets }, (_, i) =>
      list(words[head + bucketsAt + i], slotLinksAt),
    ).flat();
    const freeSlots = list(words[head + FREE_SLOT], slotLinksAt);
    const slotOf = (index: number) => head + slotsAt + (index - 1) * SLOT;
    expect(linked.every((index) => words[slotOf(index)] !== 0)).toBe(true);
    expect(freeSlots.every((index) => words[slotOf(index)] === 0)).toBe(true);
    const fresh = words[head + FRESH_SLOT];
    expect([...linked, ...freeSlots].sort((a, b) => a - b)).toEqual(
      Array.from({ length: fresh }, (_, i) => i + 1),
    );
    expect(words[head + COUNT]).toBe(linked.length);

    const held = linked.flatMap((index) => {
      const units: number[] = [];
      let unit = words[slotOf(index) + CHAIN];
      for (let i = 0; i < chainLength(layout, slotOf(index)); i++) {
        units.push(unit);
        unit = words[head + unitLinksAt + unit - 1];
      }
      return units;
    });
    const freeUnits = list(words[head + FREE_UNIT], unitLinksAt);
    const freshUnits = words[head + FRESH_UNIT];
    expect([...held, ...freeUnits].sort((a, b) => a - b)).toEqual(
      Array.from({ length: freshUnits }, (_, i) => i + 1),
    );
    expect(words[head + UNITS_LEFT]).toBe(layout.units - held.length);
    total.rows += linked.length;
    total.units += held.length;
  }
  return total;
}
