/** Tests which changes to a configuration change its hash. */
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { hashOf } from '../../src/config/config-hash.ts';
import { parseConfig } from '../../src/config/config.ts';
import { started, take, temporaryFile } from '../serving.ts';

const hash = (...texts: string[]): string =>
  hashOf(
    parseConfig(
      texts.map((text, i) => ({ file: `${i}.yaml`, text })),
      { mergeDomains: true },
    ),
  );

const LIMITS = `
limits:
  api: { policies: 5/s & 100/h, tiers: { pro: 9/s, free: 1/s }, overrides: { 'a*': 2/s, 'ab*': blocked } }
  login: { policies: { attempts: { algorithm: sliding-log, limit: 5, per: 10m } } }
`;
const DOMAIN = `
domain: edge
descriptors:
  - { key: ip, rate_limit: { unit: second, requests_per_unit: 10 } }
  - { key: path, value: /a*, rate_limit: { policies: 5/min } }
  - { key: path, value: /ab*, rate_limit: { unlimited: true } }
`;

describe('the hash of a configuration', () => {
  test('does not depend on comments, on the order of limits, or on how the limits are divided into files', () => {
    const [start, api = '', login = ''] = LIMITS.trim().split('\n');
    const turned = api.replace('pro: 9/s, free: 1/s', 'free: 1/s, pro: 9/s');
    const options = login.replace('limit: 5, per: 10m', 'per: 10m, limit: 5');
    const expected = hash(`${LIMITS}---${DOMAIN}`);
    expect(hash(DOMAIN, `# comment\n${start}\n${options} # comment\n${turned}`)).toBe(expected);
    expect(hash(`${start}\n${login}`, `${start}\n${api}`, DOMAIN)).toBe(expected);
    expect(hash(LIMITS, DOMAIN.replace(/\n( {2}- \{ key: ip[^\n]*)\n(.*)$/s, '\n$2$1\n'))).toBe(expected);
  });

  test.each([
    ['a number', 'limit: 5', 'limit: 6'],
    ['an algorithm', 'sliding-log, limit: 5, per: 10m', 'fixed-window, limit: 5, per: 10m'],
    ['the text of a policy', '100/h', '100/h fixed-window'],
    ['a tier', 'pro: 9/s', 'pro: 8/s'],
    ['the name of a limit', 'login:', 'signin:'],
    ['the order of patterns', "'a*': 2/s, 'ab*': blocked", "'ab*': blocked, 'a*': 2/s"],
    ['a rate', 'requests_per_unit: 10', 'requests_per_unit: 11'],
    ['a descriptor', 'key: ip', 'key: address'],
    ['policies of a descriptor', '5/min', '6/min'],
  ])('changes with %s', (_, before, after) => {
    const all = `${LIMITS}---${DOMAIN}`;
    expect(all).toContain(before);
    expect(hash(all.replace(before, after))).not.toBe(hash(all));
  });

  test('is the same after a reload in which only a comment changed', async () => {
    const file = temporaryFile(LIMITS);
    const server = await started('--config', file);
    const hashes = () => [...server.output().matchAll(/"message":"configuration loaded".*"hash":"(\w+)"/g)];
    writeFileSync(file, `# comment${LIMITS}`);
    await server.says('configuration loaded');
    expect((await take(server.url, 'login', 'x')).allowed).toBe(true);
    const [[, first], [, second]] = hashes();
    expect(second).toBe(first);
  });
});
