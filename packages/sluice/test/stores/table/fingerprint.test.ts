/** Compares fingerprints with a direct implementation of the hash. floods.test.ts tests how evenly they are spread. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fingerprint, high, low } from '../../../src/stores/table/table.ts';

/** The hash according to its specification, slowly. The state and the result are 32-bit words. */
function halfSipHash(key: string, [k0 = 0, k1 = 0]: Int32Array): [high: number, low: number] {
  const v = Uint32Array.of(k0, k1, 0x6c796765 ^ k0, 0x74656462 ^ k1);
  const add = (to: number, from: number): void => {
    v[to] += v[from];
  };
  const turn = (at: number, by: number): void => {
    v[at] = (v[at] << by) | (v[at] >>> (32 - by));
  };
  const mix = (to: number, from: number): void => {
    v[to] ^= v[from];
  };
  function round(): void {
    for (const [one, other, by, half] of [
      [0, 1, 5, true],
      [2, 3, 8, false],
      [0, 3, 7, false],
      [2, 1, 13, true],
    ] as const) {
      add(one, other);
      turn(other, by);
      mix(other, one);
      if (half) turn(one, 16);
    }
  }
  const units = Array.from({ length: key.length }, (_, i) => key.charCodeAt(i));
  const pairs = Array.from(
    { length: units.length >> 1 },
    (_, i) => units[2 * i] + units[2 * i + 1] * 2 ** 16,
  );
  const lastUnit = units.length % 2 === 1 ? units[units.length - 1] : 0;
  for (const word of [...pairs, (units.length % 2 ** 16) * 2 ** 16 + lastUnit]) {
    v[3] ^= word;
    round();
    v[0] ^= word;
  }
  v[2] ^= 0xee;
  for (let i = 0; i < 3; i++) round();
  return [v[1] ^ v[3], (v[0] ^ v[2]) | 0 || 1];
}

test('the fingerprint is HalfSipHash-1-3 over pairs of code units, with the length and the odd code unit in the last word', () => {
  const halves = fc.tuple(fc.integer(), fc.integer()).map((words) => Int32Array.from(words));
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), halves, (key, own) => {
      fingerprint(key, own);
      expect([high, low]).toEqual(halfSipHash(key, own));
    }),
  );
});
