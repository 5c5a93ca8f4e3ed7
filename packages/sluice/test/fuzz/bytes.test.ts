/** Fuzz tests. Any bytes that a server sends or stores must lead to a decision, or to an error with a code. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  casStore,
  createLimiter,
  type Decision,
  gcra,
  type Policies,
  slidingLog,
  StoreUnavailable,
} from '../../src/index.ts';
import type { Hit } from '../../src/store.ts';
import { planOf } from '../../src/policy/named-policies.ts';
import { redis } from '../../src/stores/redis/index.ts';
import {
  askOf,
  decisionFrom,
  answerLine,
  answersIn,
  hitFrom,
  lineReader,
} from '../../src/stores/wire/wire.ts';
import { manualClock } from '../../src/testing/index.ts';

const KINDS: Readonly<Record<string, Policies>> = {
  gcra: gcra({ limit: 5, per: '1s' }),
  several: { rate: '5/s', window: '5/min fixed-window', sliding: '5/min sliding-window' },
  log: slidingLog({ limit: 5, per: '1s' }),
};

function expectWellFormed(decision: Decision, limit: number): void {
  expect(typeof decision.allowed).toBe('boolean');
  expect(decision.policies.length).toBeGreaterThan(0);
  for (const number of [decision.taken, decision.limit, decision.remaining])
    expect(typeof number).toBe('number');
  expect(decision.remaining > limit).toBe(false);
}

describe('Redis replies', () => {
  /** Random bytes, and replies that resemble those of the script: float64 numbers with single characters between them. */
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.array(fc.oneof(fc.constantFrom(0x30, 0x31, 0x32), fc.double()), { maxLength: 12 }).map((parts) =>
      Buffer.concat(
        parts.map((part) => {
          if (Number.isInteger(part) && part >= 0x30 && part <= 0x32) return Buffer.of(part);
          const double = Buffer.alloc(8);
          double.writeDoubleLE(part);
          return double;
        }),
      ),
    ),
  );
  const other = fc.oneof(fc.constantFrom(null, undefined, 0, 'OK', '', 'zz', true), fc.string(), fc.object());
  const reply = fc.oneof(
    bytes,
    bytes.map((some) => Buffer.from(some).toString('hex')),
    other,
    fc.array(fc.oneof(bytes, other), { maxLength: 4 }),
  );

  test.each(Object.entries(KINDS))(
    '%s: any reply leads to a decision or a StoreUnavailable',
    async (_, policies) => {
      let unavailable = 0;
      await fc.assert(
        fc.asyncProperty(reply, async (answer) => {
          const store = redis({ send: async () => answer }, { onFailure: 'throw' });
          const limiter = createLimiter(policies, { store, name: 'api' });
          try {
            expectWellFormed(await limiter.take('k'), Infinity);
          } catch (error) {
            expect(error).toBeInstanceOf(StoreUnavailable);
            unavailable++;
          }
          await store.close();
        }),
        { numRuns: 500 },
      );
      expect(unavailable).toBeGreaterThan(50);
    },
  );
});

describe('values in Redis', () => {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  afterAll(() => client.disconnect());

  test.each(Object.entries(KINDS))('%s: a reset recovers from any value', async (kind, policies) => {
    const name = `fuzz ${process.pid} ${kind}`;
    const limiter = createLimiter(policies, {
      store: redis(client, { onFailure: 'throw', deadline: '30s' }),
      name,
    });
    await limiter.take('k', 2);
    const real = (await client.getBuffer(`${name}:{k}`)) ?? Buffer.of();
    const broken = fc
      .array(fc.tuple(fc.nat(real.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
      .map((changes) => {
        const bytes = Buffer.from(real);
        for (const [at, byte] of changes) bytes[at] = byte;
        return bytes;
      });
    const cut = fc.nat(real.length).map((length) => real.subarray(0, length));
    const any = fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes));
    await fc.assert(
      fc.asyncProperty(fc.oneof(broken, cut, any), async (value) => {
        await client.set(`${name}:{k}`, value, 'PX', 60_000);
        try {
          expectWellFormed(await limiter.take('k'), 5);
        } catch (error) {
          expect(error).toBeInstanceOf(StoreUnavailable);
        }
        await limiter.reset('k');
        const { allowed, taken, remaining } = await limiter.take('k');
        expect([allowed, taken, remaining]).toEqual([true, 1, 4]);
      }),
      { numRuns: 200 },
    );
  });
});

describe('rows of a compare-and-swap store', () => {
  test.each(Object.entries(KINDS))('%s: a reset recovers from any row', async (_, policies) => {
    const numbers = fc.array(fc.oneof(fc.double(), fc.integer({ min: -3, max: 9 }), fc.constant(1.7e12)), {
      maxLength: 24,
    });
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      numbers.map((some) => new Uint8Array(Float64Array.from(some).buffer)),
    );
    // Half of the rows start with the mark of a real row, because the rest of a row is parsed only after a valid mark.
    const mark = await markOf(policies);
    await fc.assert(
      fc.asyncProperty(bytes, fc.boolean(), async (found, isMarked) => {
        const value = found.slice();
        if (isMarked && value.length >= 8) value.set(mark);
        const { limiter } = over(policies, value);
        expectWellFormed(await limiter.take('k'), 5);
        await limiter.reset('k');
        const { allowed, taken, remaining } = await limiter.take('k');
        expect([allowed, taken, remaining]).toEqual([true, 1, 4]);
      }),
      { numRuns: 500 },
    );
  });

  function over(policies: Policies, value?: Uint8Array) {
    let kept = value === undefined ? undefined : { value, version: 0 };
    const service = {
      get: () => kept,
      put(_key: string, next: Uint8Array) {
        kept = { value: next, version: (kept?.version ?? 0) + 1 };
        return true;
      },
    };
    const store = casStore(service, {
      onFailure: 'throw',
      clock: manualClock(1_700_000_000_000),
      deadline: '30s',
    });
    return { limiter: createLimiter(policies, { store, name: 'api' }), kept: () => kept };
  }

  async function markOf(policies: Policies): Promise<Uint8Array> {
    const { limiter, kept } = over(policies);
    await limiter.take('k');
    return (kept()?.value ?? new Uint8Array()).slice(0, 8);
  }
});

describe('messages between processes', () => {
  const plan = planOf({ rate: '5/s', ['__proto__']: '5/min' });
  const hit = fc.record<Hit>({
    verb: fc.constantFrom('take', 'peek', 'refund', 'release', 'reserve', 'block', 'reset'),
    plan: fc.constant(plan),
    key: fc.string({ unit: 'binary' }),
    cost: fc.double({ min: 0, max: 1e300, noNaN: true }).map((cost) => cost + 0),
    mode: fc.constantFrom('whole', 'partial', 'always'),
    span: fc.oneof(fc.constant(Infinity), fc.double({ min: 0, max: 1e300, noNaN: true })),
  });

  test('a hit is decoded to the same values that were encoded, however its line is split into chunks', () => {
    fc.assert(
      fc.property(fc.array(hit, { minLength: 1, maxLength: 5 }), fc.array(fc.nat()), (hits, cuts) => {
        const line = `${JSON.stringify(
          askOf(
            hits.map((one) => ({ hit: one, plan: 'text' })),
            'client',
            1,
          ),
        )}\n`;
        const lines: string[] = [];
        const read = lineReader((whole) => lines.push(whole));
        let from = 0;
        for (const cut of [...cuts.map((at) => at % line.length).sort((a, b) => a - b), line.length]) {
          read(line.slice(from, cut));
          from = cut;
        }
        expect(lines).toHaveLength(1);
        const [, told] = JSON.parse(lines[0] ?? '') as [unknown, Parameters<typeof hitFrom>[0][]];
        expect(told.map((one) => hitFrom(one, plan))).toEqual(hits);
      }),
    );
  });

  test('a decision is decoded to the same values that were encoded', () => {
    const limiter = createLimiter({ rate: '5/s', ['__proto__']: '5/min' });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 20, noNaN: true }), (cost) => {
        const decision = limiter.take('k', cost);
        const [line] = answersIn(answerLine([decision]));
        const whole = { plan, key: 'k', cost, verb: 'take', mode: 'whole', span: 0 } as const;
        expect(decisionFrom(line as never, whole)).toEqual(decision);
      }),
    );
  });

  test('a megabyte in chunks of one byte is joined in linear time', () => {
    let length = 0;
    const read = lineReader((line) => {
      length = line.length;
    });
    const start = process.cpuUsage();
    for (let i = 0; i < 1_000_000; i++) read('x');
    read('\n');
    expect(length).toBe(1_000_000);
    expect(process.cpuUsage(start).user).toBeLessThan(3e6);
  });
});
