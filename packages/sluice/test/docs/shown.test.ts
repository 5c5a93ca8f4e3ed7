/** Checks blocks without a language: drawings of rows and values, headers, Prometheus queries. */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  casStore,
  createLimiter,
  fixedWindow,
  gcra,
  memory,
  metered,
  type Policies,
  slidingLog,
  type Store,
  StoreUnavailable,
} from '../../src/index.ts';
import type { CasService } from '../../src/store.ts';
import { prometheusMetrics } from '../../src/metrics/prometheus.ts';
import { withRateLimit } from '../../src/middleware/fetch.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { reading } from 'sluice-test-support/docs/reading.ts';

const wordsOf = (text: string): string[] => text.trim().split(/\s+/);

describe('docs/how-it-works.md', () => {
  const block = reading('docs/how-it-works.md');
  const drawing = block('', `row of 'alice'`);

  test('the policies in the drawing have the cells that the drawing shows', async () => {
    const [, text = ''] = /createLimiter\((.*)\)/.exec(drawing) ?? [];
    const pairs = [...text.matchAll(/(\w+): '(.+?)'/g)].map(([, name = '', policy = '']) => [name, policy]);
    const widths: Record<string, number> = {};
    const rows = memory();
    const store: Store = {
      ...rows,
      apply(hit) {
        for (const { name, algorithm, params } of hit.plan.policies) widths[name] = algorithm.width(params);
        return rows.apply(hit);
      },
    };
    await createLimiter(Object.fromEntries(pairs) as Policies, { store }).take('alice');
    const [, ...cells] = /│(.*)│(.*)│/.exec(drawing) ?? [];
    expect(Object.keys(widths)).toEqual(wordsOf(/\n\n(.*)\n/.exec(drawing)?.[1] ?? ''));
    expect(Object.values(widths)).toEqual(cells.map((part) => wordsOf(part).length));
    // These are the cell names on the pages of the algorithms.
    expect(cells.map(wordsOf)).toEqual([
      ['debt', 'since'],
      ['start', 'count'],
    ]);
    expect(wordsOf(drawing.trim().split('\n').at(-1) ?? '')).toHaveLength(4);
  });
});

describe('packages/sluice/src/stores/cas/README.md', () => {
  const block = reading('packages/sluice/src/stores/cas/README.md');
  const drawing = block('', 'format  blocked-until');

  test('the stored value matches the drawing', async () => {
    const values = new Map<string, Uint8Array>();
    const service: CasService<Uint8Array> = {
      get: (key) => {
        const value = values.get(key);
        return value && { value, version: value };
      },
      put: (key, value) => Boolean(values.set(key, value)),
    };
    // With a custom clock, rows are kept a day longer.
    const clock = { now: () => 1e12 };
    const limiter = createLimiter(gcra({ limit: 10, per: 1000 }), {
      store: casStore(service, { clock, deadline: '30s' }),
      name: 'a',
    });
    await limiter.take('b', 3);
    await limiter.block('b', 5000);
    const numbers = new Float64Array(values.get('a:b')?.slice().buffer ?? new ArrayBuffer(0));
    const [header = '', section = ''] = drawing.trim().split('\n');
    const names = wordsOf(header.split('   ')[0] ?? '');
    const row = Object.fromEntries(names.map((name, i) => [name, numbers[i]]));
    expect(row).toMatchObject({
      'blocked-until': 1e12 + 5000,
      written: 1e12,
      expires: 1e12 + 5000 + 86_400_000,
    });
    const fields = wordsOf(section.split('cells')[0] ?? '');
    expect(fields).toEqual(['mark', 'length', 'expires']);
    const [, length, expires, ...cells] = Array.from(numbers).slice(names.length);
    expect([length, expires]).toEqual([cells.length + 1, 1e12 + 300 + 86_400_000]);
    // The cells of a gcra: its debt, and the time of that debt.
    expect(cells).toEqual([300, 1e12]);
  });
});

describe('packages/sluice/src/stores/redis/README.md', () => {
  const block = reading('packages/sluice/src/stores/redis/README.md');
  const drawing = block('', 'gcra, manually blocked');
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  afterAll(() => client.disconnect());

  const both = { window: fixedWindow({ limit: 9, per: '1h' }), log: slidingLog({ limit: 9, per: '1h' }) };
  const cases: readonly [label: string, policies: Policies, isBlocked: boolean, before?: Policies][] = [
    ['gcra', '10/h', false],
    ['gcra, manually blocked', '10/h', true],
    ['two versions', '10/h', false, '10/h fixed-window'],
    ['log beside a window', both, true],
  ];

  test('every value in the drawing has a case in this test', () => {
    expect(
      drawing
        .trim()
        .split('\n')
        .map((line) => line.split(/ {2,}/, 1)[0]),
    ).toEqual(cases.map(([label]) => label));
  });

  test.each(cases)(
    'the stored value has the layout that the README shows: %s',
    async (label, policies, isBlocked, before) => {
      const name = `drawn ${process.pid} ${label}`;
      const store = redis(client, { deadline: '10s' });
      if (before !== undefined) {
        const version = createLimiter(before, { store, name });
        await version.take('a', 2);
        await version.close();
      }
      const limiter = createLimiter(policies, { store, name });
      await limiter.take('a', 2);
      if (isBlocked) await limiter.block('a', '1h');
      const value = (await client.getBuffer(`${name}:{a}`)) ?? Buffer.alloc(0);
      // Each part of the drawing is a number of 8 bytes, with three exceptions: `mark` has 3 bytes, the `!!` of a manual block has
      // 2 bytes, and an entry consists of two numbers.
      const line = drawing.split('\n').find((text) => text.startsWith(`${label}  `)) ?? '';
      const places: Record<string, number> = {};
      let length = 0;
      for (const word of wordsOf(line.slice(label.length)).filter((text) => !/entries|…/.test(text))) {
        places[word] = length;
        length += word === '!!' ? 2 : word === 'mark' ? 3 : 8;
      }
      const numberAt = (word: string): number => value.readDoubleLE(places[word]);
      if (line.includes('entries')) length += 16 * numberAt('capacity');
      expect(value).toHaveLength(length);
      expect(numberAt('expires')).toBeGreaterThan(Date.now() - 60_000);
      if (isBlocked) {
        expect(value.toString('latin1', 0, 2)).toBe('!!');
        expect(numberAt('blocked-until')).toBeGreaterThan(Date.now() + 3_000_000);
      }
      if ('debt' in places) expect(numberAt('debt')).toBe(720_000);
      else expect(numberAt('count')).toBe(2);
    },
  );
});

describe('docs/guides/headers.md', () => {
  const block = reading('docs/guides/headers.md');
  const shown = block('', 'Access-Control-Expose-Headers');

  test('the header on the page lets browsers read all headers of a denied response', async () => {
    const handler = withRateLimit({ limiter: createLimiter('1/h'), key: () => 'a' }, () => new Response());
    await handler(new Request('http://localhost/'));
    const { status, headers } = await handler(new Request('http://localhost/'));
    expect(status).toBe(429);
    // Scripts may read the two excluded headers even across origins.
    const own = [...headers.keys()].filter((name) => !['content-type', 'cache-control'].includes(name));
    expect(shown.trim().split(': ')[1]?.toLowerCase().split(', ').toSorted()).toEqual(own.toSorted());
  });
});

describe('docs/guides/metrics.md', () => {
  const block = reading('docs/guides/metrics.md');
  const questions = block('', 'sum by (limiter)');

  test('the metrics and labels in the Prometheus queries exist', async () => {
    const metrics = prometheusMetrics();
    const rows = memory();
    let isDown = false;
    const slow: Store<Promise<Awaited<ReturnType<Store['apply']>>>> = {
      clock: rows.clock,
      close() {},
      async apply(hit) {
        if (isDown) throw new StoreUnavailable('deadline');
        return rows.apply(hit);
      },
    };
    const limiter = createLimiter('2/min', { store: metered(slow, metrics), name: 'login' });
    for (let i = 0; i < 3; i++) await limiter.take('alice');
    isDown = true;
    await expect(limiter.take('alice')).rejects.toThrow();
    const samples = metrics.text().split('\n');
    const asked = [...questions.matchAll(/(?:sum by \((.*?)\) \()?rate\((\w+)(?:\{(.*?)\})?\[/g)];
    expect(asked).toHaveLength(5);
    for (const [, labels = '', name = '', matcher = ''] of asked) {
      const found = samples.find((line) => line.startsWith(`${name}{`) && line.includes(matcher));
      expect(found, name).toBeDefined();
      for (const label of labels.split(', ')) expect(found).toContain(`${label}="`);
    }
  });
});
