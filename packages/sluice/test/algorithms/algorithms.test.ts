/** Every algorithm must be listed everywhere it is needed, so that a new one is not left out by mistake. */
import { describe, expect, test } from 'vitest';
import { algorithmsByName } from '../../src/algorithms/by-name.ts';
import type { Policies } from '../../src/index.ts';
import type { Algorithm } from '../../src/store.ts';
import { planOf } from '../../src/policy/named-policies.ts';
import { ALGORITHMS as SCRIPTS } from '../../src/stores/redis/lua.ts';
import { ALGORITHM_CLAIMS } from '../../src/testing/algorithm-claims.ts';
import { CASES } from '../support/policies.ts';

const BY_NAME = algorithmsByName('algorithms');

function algorithmsOf(cases: readonly { readonly policies: unknown }[]): Set<Algorithm> {
  const plans = cases.map(({ policies }) => planOf(policies as Policies));
  return new Set(plans.flatMap(({ policies }) => policies.map(({ algorithm }) => algorithm)));
}

describe.each([...BY_NAME])('%s', (name, algorithm) => {
  test('has a Lua script', () => {
    expect(SCRIPTS).toHaveProperty([name]);
  });

  test('has a conformance claim', () => {
    expect(algorithmsOf(ALGORITHM_CLAIMS)).toContain(algorithm);
  });

  test('has a line in policies.ts, so that the property tests cover it', () => {
    expect(algorithmsOf(Object.values(CASES))).toContain(algorithm);
  });
});

test('every algorithm that has a Lua script can be looked up by its name', () => {
  expect([...BY_NAME.keys()].sort()).toEqual(Object.keys(SCRIPTS).sort());
});
