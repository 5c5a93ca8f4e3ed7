/** Tests which limit applies to a request, and what the response says. */
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { type Core, createCore } from '../../src/core/core.ts';
import { type Descriptor, Descriptors, type RateLimitAnswer } from '../../src/core/descriptors.ts';
import { showConfig } from '../../src/listeners/http/rlconfig.ts';

const NOON = Date.UTC(2026, 0, 1, 12);

function open(text: string, options: { shadow?: boolean } = {}): Core & { advance(ms: number): void } {
  const clock = manualClock(NOON);
  const core = createCore(parseConfig([{ file: 'rl.yaml', text }]), { store: memory({ clock }), ...options });
  return Object.assign(Object.create(core) as Core, { advance: (ms: number) => clock.advance(ms) });
}

/** Parses a descriptor; for example, 'a=1/b=2' has two entries. */
function descriptor(text: string): Descriptor {
  const entries = text.split('/').map((pair) => {
    const [key = '', value = ''] = pair.split('=');
    return { key, value };
  });
  return { entries };
}

function ask(core: Core, domain: string, ...texts: string[]): RateLimitAnswer {
  return core.decide(domain, texts.map(descriptor)) as RateLimitAnswer;
}

/** The number of requests, out of 100, that pass. */
function passing(core: Core, domain: string, ...texts: string[]): number {
  let count = 0;
  for (let i = 0; i < 100; i++) if (!ask(core, domain, ...texts).overLimit) count++;
  return count;
}

const BASIC = `
domain: shop
descriptors:
  - key: tenant
    value: blue
    descriptors:
      - key: user
        rate_limit: { unit: second, requests_per_unit: 5 }
      - key: user
        value: root
        rate_limit: { unit: second, requests_per_unit: 10 }
  - key: plan
    rate_limit: { unit: minute, requests_per_unit: 20 }
  - key: plan
    value: paid
    rate_limit: { unit: MINUTE, requests_per_unit: 30 }
  - key: plan
    value: staff
  - key: banned
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: region
    value: eu
    rate_limit: { unit: day, requests_per_unit: 15 }
    descriptors:
      - key: city
        value: 7
        rate_limit: { unit: hour, requests_per_unit: 25, unit_multiplier: 2 }
  - key: free
    rate_limit: { unlimited: true }
`;

describe('a request', () => {
  const claims: [descriptor: string, passing: number][] = [
    ['tenant=blue/user=ann', 5],
    ['tenant=blue/user=root', 10],
    ['tenant=red/user=ann', 100],
    ['tenant=blue', 100],
    ['plan=basic', 20],
    ['plan=paid', 30],
    ['plan=staff', 100],
    ['plan=', 20],
    ['banned=x', 0],
    ['region=eu', 15],
    ['region=eu/city=7', 25],
    ['region=eu/city=8', 100],
    ['region=eu/city=7/street=1', 100],
    ['free=x', 100],
    ['other=x', 100],
  ];
  test.each(claims)('for %s passes %d times out of 100', (text, count) => {
    expect(passing(open(BASIC), 'shop', text)).toBe(count);
  });

  test('for an unknown domain always passes', () => {
    expect(passing(open(BASIC), 'other', 'plan=basic')).toBe(100);
  });

  test('is counted separately for each value and for each window', () => {
    const core = open(BASIC);
    expect(passing(core, 'shop', 'plan=a')).toBe(20);
    expect(passing(core, 'shop', 'plan=b')).toBe(20);
    core.advance(59_999);
    expect(passing(core, 'shop', 'plan=a')).toBe(0);
    core.advance(1);
    expect(passing(core, 'shop', 'plan=a')).toBe(20);
  });

  test('gets a status for each descriptor, in order, with the limit, the remaining units and the end of the window', () => {
    const core = open(BASIC);
    core.advance(15_000);
    expect(ask(core, 'shop', 'plan=a', 'nothing=x', 'free=x', 'banned=x')).toEqual({
      overLimit: true,
      quotaMode: false,
      quotaViolations: [],
      statuses: [
        {
          code: 'OK',
          currentLimit: { name: undefined, requestsPerUnit: 20, unit: 'minute' },
          limitRemaining: 19,
          resetAfter: 45_000,
        },
        { code: 'OK', limitRemaining: 0 },
        { code: 'OK', limitRemaining: 4_294_967_295 },
        {
          code: 'OVER_LIMIT',
          currentLimit: { name: undefined, requestsPerUnit: 0, unit: 'day' },
          limitRemaining: 0,
          resetAfter: expect.any(Number),
        },
      ],
    });
  });

  test('is counted even if it is denied, as in envoyproxy/ratelimit', () => {
    const core = open(BASIC);
    const paid = descriptor('plan=paid');
    expect(core.decide('shop', [paid], 29)).toMatchObject({ overLimit: false });
    expect(core.decide('shop', [paid], 2)).toMatchObject({ overLimit: true });
    expect(core.decide('shop', [paid], 1)).toMatchObject({ overLimit: true });
  });

  test('with 0 hits checks the limit without being counted', () => {
    const core = open(BASIC);
    const check = { ...descriptor('plan=paid'), hitsAddend: 0 };
    for (let i = 0; i < 40; i++) expect(core.decide('shop', [check])).toMatchObject({ overLimit: false });
    expect(core.decide('shop', [descriptor('plan=paid')], 31)).toMatchObject({ overLimit: true });
    expect(core.decide('shop', [check])).toMatchObject({ overLimit: true });
  });

  test("charges a descriptor's own hits instead of the request's, and refunds negative hits", () => {
    const core = open(BASIC);
    const paid = descriptor('plan=paid');
    expect(core.decide('shop', [{ ...paid, hitsAddend: 10 }], 1)).toMatchObject({ overLimit: false });
    expect(core.decide('shop', [{ ...paid, hitsAddend: 4, isNegativeHits: true }])).toMatchObject({
      statuses: [{ code: 'OK', limitRemaining: 24 }],
    });
  });

  test('can contain its own limit', () => {
    const core = open(BASIC);
    const own = { ...descriptor('plan=paid'), limit: { requestsPerUnit: 2, unit: 'hour' as const } };
    const codes = [1, 2, 3].map(() => (core.decide('shop', [own]) as RateLimitAnswer).overLimit);
    expect(codes).toEqual([false, false, true]);
    expect(passing(core, 'shop', 'plan=paid')).toBe(30);
    const none = { ...own, limit: { requestsPerUnit: 0, unit: 'hour' as const } };
    expect(core.decide('shop', [none])).toMatchObject({ overLimit: true });
  });
});

describe('with patterns in the configuration,', () => {
  const core = open(`
domain: files
descriptors:
  - key: file
    value: docs/readme
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: file
    value: docs/*
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: file
    rate_limit: { unit: minute, requests_per_unit: 3 }
  - key: mid
    value: a*b*c
    rate_limit: { unit: minute, requests_per_unit: 4 }
  - key: all
    value: all*
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 5 }
`);
  const cases: [value: string, passing: number][] = [
    ['file=docs%readme', 1],
    ['file=docs%x', 2],
    ['file=docs%y', 2],
    ['file=src', 3],
    ['mid=abc', 4],
    ['mid=aXbYc', 4],
    ['mid=acb', 100],
    ['mid=ab', 100],
    ['all=1', 100],
    ['all=all', 5],
    ['all=all1', 0],
  ];
  test.each(cases)('the request %s passes %d times out of 100', (text, count) => {
    const [key = '', value = ''] = text.replace('%', '/').split('=');
    let passed = 0;
    for (let i = 0; i < 100; i++)
      if (!(core.decide('files', [{ entries: [{ key, value }] }]) as RateLimitAnswer).overLimit) passed++;
    expect(passed).toBe(count);
  });
});

describe('in the descriptors of a configuration,', () => {
  test('shadow mode counts requests and lets them pass, for one limit or for the whole server', () => {
    const text = (mode: string) =>
      `domain: d\ndescriptors: [{ key: k, ${mode} rate_limit: { unit: day, requests_per_unit: 1 } }]`;
    for (const core of [open(text('shadow_mode: true,')), open(text(''), { shadow: true })]) {
      expect(passing(core, 'd', 'k=1')).toBe(100);
      expect(core.metrics.text()).toContain('sluice_decisions_total{limit="d.k",outcome="shadowed"} 99');
    }
  });

  test('a limit that replaces another limit is charged instead of the other limit', () => {
    const core = open(`
domain: d
descriptors:
  - key: category
    rate_limit: { name: general, unit: day, requests_per_unit: 5 }
  - key: endpoint
    rate_limit: { replaces: [{ name: general }], unit: day, requests_per_unit: 10 }
`);
    expect(passing(core, 'd', 'category=read', 'endpoint=list')).toBe(10);
    expect(passing(core, 'd', 'category=read')).toBe(5);
    expect(ask(core, 'd', 'category=new')).toMatchObject({
      statuses: [{ currentLimit: { name: 'general' } }],
    });
  });

  test('policies that are given instead of a unit are decided together, and denied requests charge nothing', () => {
    const core = open('domain: d\ndescriptors: [{ key: k, rate_limit: { policies: 2/s & 3/min } }]');
    expect(passing(core, 'd', 'k=1')).toBe(2);
    core.advance(1000);
    expect(passing(core, 'd', 'k=1')).toBe(1);
  });

  test('detailed_metric and value_to_metric add the values of entries to the labels of the metrics', () => {
    const core = open(`
domain: d
descriptors:
  - key: a
    rate_limit: { unit: day, requests_per_unit: 1 }
  - key: b
    detailed_metric: true
    rate_limit: { unit: day, requests_per_unit: 1 }
  - key: c
    value_to_metric: true
    descriptors:
      - key: x
        rate_limit: { unit: day, requests_per_unit: 1 }
`);
    for (const text of ['a=1', 'b=1', 'c=1/x=2']) ask(core, 'd', text);
    const labels = [...core.metrics.text().matchAll(/near_limit_total\{limit="([^"]+)"/g)].map(
      ([, label]) => label,
    );
    expect(labels).toEqual(['d.a', 'd.b_1', 'd.c_1.x']);
  });
});

test('/rlconfig shows the loaded configuration', () => {
  expect(showConfig(open(BASIC).config, false).split('\n').slice(0, 4)).toEqual([
    'shop.tenant_blue.user_root: unit=SECOND requests_per_unit=10, shadow_mode: false',
    'shop.tenant_blue.user: unit=SECOND requests_per_unit=5, shadow_mode: false',
    'shop.plan_paid: unit=MINUTE requests_per_unit=30, shadow_mode: false',
    'shop.region_eu: unit=DAY requests_per_unit=15, shadow_mode: false',
  ]);
});

test('the server keeps only a bounded number of the limits that requests contain', () => {
  const { domains } = parseConfig([{ file: 'rl.yaml', text: BASIC }]);
  const descriptors = new Descriptors(domains, memory(), () => {});
  for (let i = 1; i <= 5500; i++)
    void descriptors.decide('shop', [
      { ...descriptor(`a${i}=1`), limit: { requestsPerUnit: i, unit: 'hour' } },
    ]);
  for (const cache of ['ownLimits', 'ownLimiters'])
    expect((Reflect.get(descriptors, cache) as { size: number }).size).toBe(1500);
});
