import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { duplicateMember } from '../../../src/listeners/http/duplicate-members.ts';

const duplicateIn = (json: string): string | undefined => duplicateMember(json, JSON.parse(json));

describe('duplicateMember', () => {
  test.each([
    ['{"a":1,"a":1}', 'a'],
    ['[{"a":1},{"b":{"c":[],"d":":","c":0}}]', 'c'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"":1,"":2}', ''],
    ['{"a":{"a":{"a":"\\"a\\":1"}}}', undefined],
    ['[{"a":1},{"a":1}]', undefined],
    ['{"a:":":","\\\\":"\\""}', undefined],
    ['"a:b"', undefined],
  ])('finds the name that occurs twice in %s', (json, name) => {
    expect(duplicateIn(json)).toBe(name);
  });

  test('finds nothing in the JSON of any value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => duplicateIn(JSON.stringify(value, null, 1)) === undefined),
    );
  });

  test('does not overflow the stack on deeply nested arrays', () => {
    const depth = 100_000;
    let value: unknown[] = [];
    for (let i = 1; i < depth; i++) value = [value];
    expect(duplicateMember('['.repeat(depth) + ']'.repeat(depth), value)).toBeUndefined();
  });
});
