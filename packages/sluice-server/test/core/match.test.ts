import fc from 'fast-check';
import { memory } from 'sluice';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { createCore } from '../../src/core/core.ts';
import type { RateLimitAnswer } from '../../src/core/descriptors.ts';
import { matchesPattern } from '../../src/core/match.ts';

test('a pattern matches the same text as the equivalent regular expression', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 6 });
  fc.assert(
    fc.property(pattern, word, (text, value) => {
      const expression = new RegExp(`^${text.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
      expect(matchesPattern(text, value)).toBe(expression.test(value));
    }),
    { numRuns: 1000 },
  );
});

const core = createCore(
  parseConfig([
    {
      file: 'f',
      text: `
domain: d
descriptors:
  - key: a
    descriptors:
      - key: b
        rate_limit: { unit: day, requests_per_unit: 1 }
  - key: c
    value: x*
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: other
`,
    },
  ]),
  { store: memory() },
);

function isOver(...pairs: [key: string, value: string][]): boolean {
  const entries = pairs.map(([key, value]) => ({ key, value }));
  return (core.decide('d', [{ entries }]) as RateLimitAnswer).overLimit;
}

test('different lists of values are counted separately, even if joining them would give the same text', () => {
  const subjects: [string, string][] = [
    ['x', 'y/z'],
    ['x/y', 'z'],
    ['x%2Fy', 'z'],
    ['xy', 'z'],
    ['x', 'yz'],
    ['', 'x'],
    ['x', ''],
  ];
  for (const [a, b] of subjects) expect([a, b, isOver(['a', a], ['b', b])]).toEqual([a, b, false]);
  for (const [a, b] of subjects) expect([a, b, isOver(['a', a], ['b', b])]).toEqual([a, b, true]);
});

test('a pattern applies only to its own key', () => {
  expect(isOver(['c', 'x1'])).toBe(true);
  expect(isOver(['other', 'x1'])).toBe(false);
});
