/** Tests which configurations in the format of envoyproxy/ratelimit are accepted and which are rejected. */
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/model.ts';

describe("a configuration in Envoy's format", () => {
  function faults(text: string): string[] {
    try {
      parseConfig([{ file: 'f', text }]);
    } catch (error) {
      if (error instanceof ConfigError) return error.faults.map((f) => `${f.line}:${f.column}: ${f.message}`);
      throw error;
    }
    return [];
  }

  test.each([
    ['descriptors: []', /^1:1: a document must have limits or a domain/],
    ['domain: ""', /^1:9: domain must not be empty/],
    ['domain: d\ndescriptors: [{ value: x }]', /^2:15: a descriptor requires a key/],
    [
      'domain: d\ndescriptors: [{ key: k }, { key: k }]',
      /^2:27: a descriptor for k is already defined at this level/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, value: v }, { key: k, value: v }]',
      /^2:37: a descriptor for k with value v/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, ratelimit: {} }]',
      /^2:25: unknown name "ratelimit" in a descriptor/,
    ],
    ['domain: d\ndescriptors: [a]', /^2:15: a descriptor must be a map; got "a"/],
    ['domain: d\ndescriptors: { key: k }', /^2:14: descriptors must be a list; got a map/],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: fortnight, requests_per_unit: 1 } }]',
      /^2:45: unit must be one of second, minute, .*"fortnight"/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { requests_per_unit: 1 } }]',
      /^2:37: rate_limit must have 'unit'/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day } }]',
      /^2:37: rate_limit requires requests_per_unit/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: -1 } }]',
      /^2:69: requests_per_unit must be an integer/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 4294967296 } }]',
      /^2:69: requests_per_unit/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1.5 } }]',
      /^2:69: requests_per_unit/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1, unit_multiplier: 0 } }]',
      /^2:89: unit_multiplier/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, unlimited: true } }]',
      /^2:45: an unlimited descriptor must not have a unit/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { name: n, replaces: [{ name: n }], unit: day, requests_per_unit: 1 } }]',
      /^2:67: a limit cannot replace itself/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { replaces: [{}], unit: day, requests_per_unit: 1 } }]',
      /^2:50: an entry of 'replaces' must have a name/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, shadow_mode: 1 }]',
      /^2:38: shadow_mode must be true or false; got 1/,
    ],
    [
      'domain: d\ndescriptors: [{ key: k, share_threshold: true }]',
      /^2:42: share_threshold requires a value that contains/,
    ],
  ])('with a fault is rejected: %j', (text, message) => {
    const found = faults(text);
    expect(found.length).toBeGreaterThan(0);
    expect(found[0]).toMatch(message);
  });

  test('can contain metadata and all flags', () => {
    expect(
      faults(`---
domain: d
descriptors:
  - key: k
    value: v*
    metadata: { any: { thing: [1, 2] } }
    shadow_mode: false
    quota_mode: false
    detailed_metric: false
    value_to_metric: true
    share_threshold: true
    rate_limit: { unit: Week, requests_per_unit: 1, name: n, replaces: [] }
    descriptors:
`),
    ).toEqual([]);
  });
});
