import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfig, parseConfig } from '../../src/config/config.ts';
import { type Config, ConfigError, showFault } from '../../src/config/model.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function parse(text: string): Config {
  return parseConfig([{ file: 'l.yaml', text }]);
}

/** The faults of a text as `sluice check` prints them, without the file name. */
function faults(text: string): string[] {
  try {
    parse(text);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map((fault) => showFault(fault).replace('l.yaml:', ''));
  }
}

describe('limits', () => {
  test('can be text, named policies or lists, with tiers and overrides', () => {
    const { limits } = parse(`
limits:
  api: 100/min
  search:
    description: what people type
    policies: { second: 5/s, day: 2000/day fixed-window }
    tiers: { pro: { second: 50/s, day: 100000/day fixed-window } }
    overrides:
      probe: unlimited
      'partner-*': { tier: pro }
      scraper: blocked
      alice: 10/s burst 50
      bob: { policies: [1/s] }
      carol: { algorithm: gcra, limit: 3, per: 1s }
    classes: { batch: { keep: 0.3 }, bulk: { keep: { day: 100 } } }
    mode: always
    shadow: true
  login:
    policies:
      attempts: { algorithm: sliding-log, limit: 5, per: 10m }
      lockout: { algorithm: penalty, after: 3, within: 1h, block: 5m }
  export:
    policies: { algorithm: fixed-window, limit: 100, align: month, timeZone: Europe/Berlin }
  both: { policies: [10/s, { algorithm: concurrency, limit: 2, lease: 1m }] }
`);
    expect([...limits.keys()]).toEqual(['api', 'search', 'login', 'export', 'both']);
    expect(limits.get('search')).toMatchObject({ mode: 'always', shadow: true });
    expect(limits.get('search')?.classes).toEqual({ batch: { keep: 0.3 }, bulk: { keep: { day: 100 } } });
    expect(limits.get('search')?.overrides.map(({ keys }) => keys)).toEqual([
      'probe',
      'partner-*',
      'scraper',
      'alice',
      'bob',
      'carol',
    ]);
    expect(limits.get('login')?.text).toBe(
      'attempts: sliding-log { limit: 5, per: 10m } & lockout: penalty { after: 3, within: 1h, block: 5m }',
    );
  });

  test('are validated completely, and every fault is reported with its line and column', () => {
    expect(
      faults(`limits:
  api: 100/mim
  search:
    polices: 5/s
  login:
    policies: { algorithm: gcra, limit: -1, per: 1s }
  other:
    policies: { algorithm: gcra, limit: 1, per: 1s, brust: 2 }
`),
    ).toEqual([
      expect.stringMatching(/^2:8: policy must read like .*unknown duration "mim"/),
      expect.stringMatching(/^4:5: unknown name "polices" in limit "search"; must be one of policies,/),
      '4:5: a limit must have policies',
      expect.stringMatching(/^6:41: gcra.limit must be a finite number above 0; got -1/),
      expect.stringMatching(/^8:53: gcra.brust is not an option here/),
    ]);
  });

  test.each([
    [
      'limits: { a: { policies: { algorithm: grca } } }',
      /^1:39: unknown algorithm "grca"; must be one of gcra,/,
    ],
    ['limits: { a: { policies: { first: { limit: 1 } } } }', /^1:35: a policy must have an algorithm/],
    ['limits: { a: { policies: 1/s, classes: [batch] } }', /^1:40: classes must be a map; got a list/],
    ['limits: { a: { policies: 1/s, classes: { b: 0.3 } } }', /^1:45: class "b" must be a map; got 0.3/],
    ['limits: { a: { policies: 1/s, classes: { b: {} } } }', /^1:45: a class must have 'keep'/],
    [
      'limits: { a: { policies: 1/s, classes: { b: { kep: 1 } } } }',
      /^1:47: unknown name "kep" in class "b"; must be one of keep/,
    ],
    [
      'limits: { a: { policies: 1/s, classes: { b: { keep: 1.5 } } } }',
      /^1:53: keep must be a fraction from 0 to below 1, or a whole number of units.*got 1.5/,
    ],
    [
      'limits: { a: { policies: 1/s, classes: { b: { keep: most } } } }',
      /^1:53: keep must be a number.*"most"/,
    ],
    [
      'limits: { a: { policies: 1/s, classes: { b: { keep: [1] } } } }',
      /^1:53: keep must be a number.*a list/,
    ],
    [
      'limits: { a: { policies: { r: 1/s }, classes: { b: { keep: { t: 0.3 } } } } }',
      /^1:65: keep.t is not a policy of this limiter .*the policies are r/,
    ],
    [
      'limits: { a: { policies: { r: 1/s }, classes: { b: { keep: { r: x } } } } }',
      /^1:65: keep.r must be a number; got "x"/,
    ],
    ['limits: { a: { policies: [] } }', /^1:26: at least one policy is required/],
    ['limits: { a: { policies: {} } }', /^1:26: at least one policy is required/],
    [
      'limits: { a: { policies: 1/s, mode: sometimes } }',
      /^1:37: mode must be one of whole, partial, always/,
    ],
    [
      'limits: { a: { policies: 1/s, onFailure: open } }',
      /^1:42: onFailure must be one of local, throw, allow, deny; got "open"/,
    ],
    ['limits: { a: { policies: 1/s, shadow: maybe } }', /^1:39: shadow must be true or false; got "maybe"/],
    ['limits: { a: { policies: 1/s, overrides: { x: { tier: gold } } } }', /^1:55: "gold" is not a tier of/],
    ['limits: { a: { policies: 1/s, overrides: { x: 5 } } }', /^1:47: .*must read like/],
    [
      'limits: { a: { policies: { algorithm: penalty, after: 1, within: 1m, block: 1m } } }',
      /must include a policy that denies/,
    ],
    ['limits: { a: [1/s, 2/parsec] }', /^1:20: .*unknown duration "parsec"/],
    ['limits: { "": 1/s }', /^1:15: a name must have 1 to 200/],
    ['limits: { "a\\0b": 1/s }', /^1:19: a name must have 1 to 200/],
    ['limits: { a: 1/s, a: 2/s }', /^1:19: map keys must be unique/],
    ['limits: { 5: 1/s }', /^1:11: names in limits must be strings; got 5/],
    ['limits: [1/s]', /^1:9: limits must be a map; got a list/],
    [
      'limit: { a: 1/s }',
      /^1:1: unknown name "limit" in a configuration; must be one of limits, domain, descriptors/,
    ],
    ['just text', /^1:1: a configuration must be a map; got "just text"/],
    [
      'limits: { a: { policies: { algorithm: gcra, limit: [1], per: 1s } } }',
      /^1:52: limit must be a number or text/,
    ],
    ['limits: { a: 1/s', /^1:1[67]: .*Flow map/],
    ['\tlimits: 1', /^1:1: .*[Tt]ab/],
    ['', /^1:1: the file is empty/],
    ['# only a comment\n', /^1:1: the file is empty/],
  ])('with a fault are rejected: %j', (text, message) => {
    const [first] = faults(text);
    expect(first).toMatch(message);
  });

  test('can use YAML anchors and merge keys, but not cycles or exponential expansion', () => {
    const { limits } = parse(`
limits:
  a: &a { policies: 1/s, shadow: true }
  b: { <<: *a, shadow: false }
  c: *a
  d: { shadow: false, <<: *a }
`);
    expect(limits.get('b')).toMatchObject({ policies: '1/s', shadow: false });
    expect(limits.get('d')).toMatchObject({ policies: '1/s', shadow: false });
    expect(limits.get('c')).toMatchObject({ policies: '1/s', shadow: true });
    expect(faults('domain: d\ndescriptors: &d [{ key: a, descriptors: *d }]')[0]).toMatch(
      /more than 100 levels/,
    );
    const bomb = Array.from({ length: 30 }, (_, i) => {
      const inner = i === 0 ? 'key: a' : `key: a, descriptors: [*x${i - 1}, {<<: *x${i - 1}, key: b}]`;
      return `- &x${i} { ${inner} }`;
    });
    expect(faults(`domain: d\ndescriptors:\n${bomb.join('\n')}`).join()).toMatch(/more than 500000 values/);
    expect(faults('['.repeat(20_000))[0]).toMatch(/^1:/);
  });

  test('can be named like properties of Object.prototype', () => {
    const { limits } = parse('limits: { __proto__: 1/s, constructor: { policies: { toString: 1/s } } }');
    expect([...limits.keys()]).toEqual(['__proto__', 'constructor']);
  });
});

describe('files', () => {
  test('in a folder are all loaded, including each YAML document in them, and names must be unique across all files', () => {
    writeFileSync(join(folder, 'a.yaml'), 'limits: { a: 1/s }\n---\nlimits: { b: 1/s }\n---\ndomain: x\n');
    writeFileSync(join(folder, 'b.yml'), 'limits: { c: 1/s }\ndomain: y\n');
    writeFileSync(join(folder, '.hidden.yaml'), 'nonsense');
    writeFileSync(join(folder, 'notes.txt'), 'nonsense');
    const { limits, domains } = loadConfig([folder]);
    expect([...limits.keys(), ...domains.keys()]).toEqual(['a', 'b', 'c', 'x', 'y']);

    writeFileSync(join(folder, 'c.yaml'), 'limits:\n  a: 2/s\n---\ndomain: y\n');
    expect(() => loadConfig([folder])).toThrow(
      `${join(folder, 'c.yaml')}:2:6: limit "a" is already defined\n${join(folder, 'c.yaml')}:4:9: domain "y" is already defined`,
    );
  });

  test('that do not exist are reported as a fault', () => {
    expect(() => loadConfig([join(folder, 'none.yaml')])).toThrow(/none\.yaml:1:1: cannot be read: ENOENT/);
  });

  test('that are shipped as samples are valid', () => {
    const { limits, domains } = loadConfig([
      fileURLToPath(new URL('../../limits.sample.yaml', import.meta.url)),
    ]);
    expect([limits.size, domains.size]).toEqual([4, 1]);
  });
});
