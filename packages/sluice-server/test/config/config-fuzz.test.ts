/** Fuzz tests: any text is either a valid configuration, or has faults that point into the text. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { memory } from 'sluice';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/model.ts';
import { createCore } from '../../src/core/core.ts';

const SAMPLE = readFileSync(new URL('../../limits.sample.yaml', import.meta.url), 'utf8');

/**
 * Whether the text is valid. Fails if limiters cannot be created from a valid text, or if a fault's position is outside the text.
 */
function tried(text: string): boolean {
  try {
    createCore(parseConfig([{ file: 'f', text }]), { store: memory() });
    return true;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.faults.length).toBeGreaterThan(0);
    const lines = text.split(/\r\n|\r|\n/).length;
    for (const { line, column, message } of error.faults) {
      expect(line).toBeGreaterThanOrEqual(1);
      expect(line).toBeLessThanOrEqual(lines + 1);
      expect(column).toBeGreaterThanOrEqual(1);
      expect(message).not.toBe('');
    }
    return false;
  }
}

test('any text is accepted as a configuration, or rejected with the positions of its faults', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => void tried(text)),
    { numRuns: 500 },
  );
});

test('any text of YAML syntax characters is accepted as a configuration, or rejected with the positions of its faults', () => {
  const sign = fc.constantFrom(
    ...'{}[]:,-&*!|>\'"%@`?# \n\t~'.split(''),
    'a',
    '<<',
    '---',
    '\r\n',
    'limits',
    'key',
    '1/s',
    '*a',
    '&a ',
  );
  fc.assert(
    fc.property(fc.array(sign, { maxLength: 60 }), (signs) => void tried(signs.join(''))),
    { numRuns: 1000 },
  );
});

test('any value at any place in a configuration is accepted or reported as a fault', () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<unknown>('1/s', '5/min burst 2', 'day', 'gcra', 'unlimited', 'a*', '', null, true),
      fc.oneof(fc.double(), fc.integer(), fc.string()),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          'limits',
          'domain',
          'descriptors',
          'policies',
          'tiers',
          'overrides',
          'mode',
          'algorithm',
          'limit',
          'per',
          'key',
          'value',
          'rate_limit',
          'unit',
          'requests_per_unit',
          'unlimited',
          'name',
          'replaces',
          '__proto__',
        ),
        tie('any'),
        { maxKeys: 6 },
      ),
    ),
  })).any;
  // JSON is valid YAML.
  fc.assert(
    fc.property(value, (any) => void tried(JSON.stringify(any))),
    { numRuns: 1000 },
  );
});

test('a sample configuration after a random edit is accepted, or rejected with the positions of its faults', () => {
  let good = 0;
  const edit = fc.record({
    at: fc.nat(SAMPLE.length),
    cut: fc.nat(30),
    put: fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('\n', ':', '  ', '{', '-1', 'key: ')),
  });
  fc.assert(
    fc.property(edit, ({ at, cut, put }) => {
      if (tried(SAMPLE.slice(0, at) + put + SAMPLE.slice(at + cut))) good++;
    }),
    { numRuns: 150 },
  );
  expect(good).toBeGreaterThan(30);
});
