/**
 * Tests quota mode, metadata and shadow mode of Envoy's descriptors against what the documentation, the examples and the pull
 * requests of envoyproxy/ratelimit state (#357, #1045, #1059, #1112).
 */
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/model.ts';
import { type Core, createCore } from '../../src/core/core.ts';
import type { Descriptor, RateLimitAnswer } from '../../src/core/descriptors.ts';
import { serving } from '../serving.ts';

function open(text: string, options: { shadow?: boolean } = {}): Core {
  const store = memory({ clock: manualClock(Date.UTC(2026, 0, 1, 12)) });
  return createCore(parseConfig([{ file: 'rl.yaml', text }]), { store, ...options });
}

/** A descriptor with one entry; for example, 'service=a'. */
function descriptor(text: string): Descriptor {
  const [key = '', value = ''] = text.split('=');
  return { entries: [{ key, value }] };
}

function ask(core: Core, ...texts: string[]): RateLimitAnswer {
  return core.decide('quota', texts.map(descriptor)) as RateLimitAnswer;
}

function codes({ overLimit, statuses }: RateLimitAnswer): string[] {
  return [overLimit ? 'denied' : 'passed', ...statuses.map(({ code }) => code)];
}

const SERVICES = `
domain: quota
descriptors:
  - key: service
    value: one
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
    metadata: { name: one, zone: a }
  - key: service
    value: two
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
    metadata: { name: two, spare: true }
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 3 }
  - key: tried
    quota_mode: true
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
  - key: free
    quota_mode: true
    rate_limit: { unlimited: true }
`;

describe('in quota mode,', () => {
  test('a request is denied only if all of its quotas are exceeded', () => {
    const core = open(SERVICES);
    const both = () => codes(ask(core, 'service=one', 'service=two'));
    expect(both()).toEqual(['passed', 'OK', 'OK']);
    expect(both()).toEqual(['passed', 'OVER_LIMIT', 'OK']);
    expect(both()).toEqual(['denied', 'OVER_LIMIT', 'OVER_LIMIT']);
  });

  test('a request with one quota is denied if it exceeds that quota, although its rate limits allow it', () => {
    const core = open(SERVICES);
    ask(core, 'service=one');
    expect(codes(ask(core, 'user=ann', 'service=one'))).toEqual(['denied', 'OK', 'OVER_LIMIT']);
  });

  test('a request that exceeds a rate limit is denied, although its quotas allow it', () => {
    const core = open(SERVICES);
    for (let i = 0; i < 3; i++) ask(core, 'user=ann');
    expect(codes(ask(core, 'user=ann', 'service=two'))).toEqual(['denied', 'OVER_LIMIT', 'OK']);
  });

  test('descriptors without a limit and unlimited descriptors do not exceed a quota', () => {
    const core = open(SERVICES);
    ask(core, 'service=one');
    expect(codes(ask(core, 'service=one', 'other=x'))[0]).toBe('denied');
    expect(codes(ask(core, 'service=one', 'free=x'))[0]).toBe('passed');
  });

  test('shadow mode takes precedence if a descriptor has both modes', () => {
    const core = open(SERVICES);
    ask(core, 'tried=a');
    expect(codes(ask(core, 'tried=a'))).toEqual(['passed', 'OK']);
  });

  test('the answer lists the descriptors that exceed their quotas', () => {
    const core = open(SERVICES);
    expect(ask(core, 'user=ann')).toMatchObject({ quotaMode: false, quotaViolations: [] });
    expect(ask(core, 'user=ann', 'service=one')).toMatchObject({ quotaMode: true, quotaViolations: [] });
    expect(ask(core, 'user=ann', 'service=one', 'service=two')).toMatchObject({ quotaViolations: [1] });
  });

  test('metrics count an exceeded quota as denied if the request is denied, and as shadowed otherwise', () => {
    const core = open(SERVICES);
    for (let i = 0; i < 3; i++) ask(core, 'service=one', 'service=two');
    const outcome = (name: string) =>
      new RegExp(`decisions_total\\{limit="quota.service_one",outcome="${name}"\\} (\\d)`).exec(
        core.metrics.text(),
      )?.[1];
    expect(['allowed', 'shadowed', 'denied'].map(outcome)).toEqual(['1', '1', '1']);
  });

  test('the metadata of descriptors within their limit is merged, and the first descriptor takes precedence', () => {
    const core = open(SERVICES);
    const metadata = () => ask(core, 'service=one', 'service=two').metadata;
    expect(metadata()).toEqual({ name: 'one', zone: 'a', spare: true });
    expect(metadata()).toEqual({ name: 'two', spare: true });
    expect(metadata()).toBeUndefined();
  });
});

test('with --shadow, requests pass and the statuses still say which limits they exceed', () => {
  const core = open(SERVICES, { shadow: true });
  const all = () => codes(ask(core, 'service=one', 'user=ann'));
  for (let i = 0; i < 3; i++) all();
  expect(all()).toEqual(['passed', 'OVER_LIMIT', 'OVER_LIMIT']);
  expect(core.metrics.text()).toContain('sluice_decisions_total{limit="quota.user",outcome="shadowed"} 1');
});

test('/json contains the dynamic metadata', async () => {
  const { post } = await serving(SERVICES);
  const body = { domain: 'quota', descriptors: [descriptor('service=one'), descriptor('service=two')] };
  const take = async (): Promise<[status: number, body: unknown]> => {
    const response = await post('/json', body);
    return [response.status, await response.json()];
  };
  const request = {
    domain: 'quota',
    descriptors: [{ entries: ['service=one'] }, { entries: ['service=two'] }],
    quotaModeEnabled: true,
  };
  const [, first] = await take();
  expect(first).toMatchObject({
    dynamicMetadata: { ...request, metadata: { name: 'one', zone: 'a', spare: true } },
  });
  expect(await take()).toMatchObject([
    200,
    {
      overallCode: 'OK',
      statuses: [{ code: 'OVER_LIMIT' }, { code: 'OK' }],
      dynamicMetadata: { ...request, quotaModeViolations: [0], metadata: { name: 'two', spare: true } },
    },
  ]);
  expect(await take()).toMatchObject([429, { dynamicMetadata: { quotaModeViolations: [0, 1] } }]);
  const plain = { domain: 'quota', descriptors: [{}, { entries: [] }, descriptor('user=ann')] };
  const answer = (await (await post('/json', plain)).json()) as object;
  expect(answer).toMatchObject({ statuses: [{ code: 'OK' }, { code: 'OK' }, { limitRemaining: 2 }] });
  expect(answer).not.toHaveProperty('dynamicMetadata');
});

test('a descriptor without entries has no limit unless the request contains one', () => {
  const core = open(SERVICES);
  const limit = { requestsPerUnit: 1, unit: 'hour' } as const;
  const own = () => core.decide('quota', [{ entries: [] }, { entries: [], limit }]) as RateLimitAnswer;
  expect(own().statuses).toMatchObject([{ code: 'OK', limitRemaining: 0 }, { code: 'OK' }]);
  expect(codes(own())).toEqual(['denied', 'OK', 'OVER_LIMIT']);
});

describe('several files with one domain', () => {
  const limit = (count: number) => `rate_limit: { unit: minute, requests_per_unit: ${count} }`;
  const FIRST = `domain: quota\ndescriptors: [{ key: a, ${limit(1)} }, { key: p, value: x*, ${limit(1)} }]`;
  const merged = (...texts: string[]) =>
    parseConfig(
      texts.map((text, i) => ({ file: `${i}.yaml`, text })),
      { mergeDomains: true },
    );

  test('are merged with mergeDomains', () => {
    const config = merged(FIRST, `domain: quota\ndescriptors: [{ key: b, ${limit(2)} }]`, 'domain: other');
    expect([...config.domains.keys()]).toEqual(['quota', 'other']);
    const core = createCore(config, { store: memory() });
    const { statuses } = ask(core, 'a=1', 'b=1', 'p=xy');
    expect(statuses.map(({ currentLimit }) => currentLimit?.requestsPerUnit)).toEqual([1, 2, 1]);
  });

  test('must not define a descriptor twice', () => {
    for (const twice of ['key: a', 'key: p, value: x*'])
      expect(() => merged(FIRST, `domain: quota\ndescriptors: [{ ${twice} }]`)).toThrow(
        /^1\.yaml:2:15: a descriptor for .+ is already defined/,
      );
  });

  test('are rejected without mergeDomains', () => {
    const files = [FIRST, 'domain: quota'].map((text, i) => ({ file: `${i}.yaml`, text }));
    expect(() => parseConfig(files)).toThrow(ConfigError);
    expect(() => parseConfig(files)).toThrow(
      '1.yaml:1:9: domain "quota" is already defined; use --merge-domains to merge its descriptors',
    );
  });
});

test.each([
  ['metadata: [1]', /metadata must be a map; got a list/],
  ['metadata: { a: { 1: x } }', /names in metadata must be strings; got 1/],
  ['metadata: { a: .inf }', /values in metadata must be JSON values/],
])('a descriptor with %s is rejected', (text, message) => {
  expect(() => open(`domain: d\ndescriptors: [{ key: k, ${text} }]`)).toThrow(message);
});
