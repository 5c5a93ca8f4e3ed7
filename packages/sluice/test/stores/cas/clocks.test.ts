/** Tests processes whose clocks differ, and clocks that are set back, on a compare-and-swap service. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { casStore, createLimiter, fixedWindow, gcra } from '../../../src/index.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = 1_700_000_000_000;

interface Kept {
  readonly value: Uint8Array;
  readonly version: number;
}

let elapsed = 0;
const warnings: (string | undefined)[] = [];
const listen = (warning: Error & { code?: string }) => void warnings.push(warning.code);

beforeEach(() => {
  elapsed = 0;
  warnings.length = 0;
  process.on('warning', listen);
  const began = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => began + elapsed);
});

afterEach(async () => {
  vi.restoreAllMocks();
  // Warnings are delivered after the current tick.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', listen);
});

/** Limiters of several processes on one service; `clock` returns the time of a process. */
function sharedService() {
  const kept = new Map<string, Kept>();
  let version = 0;
  return (clock: () => number, policy = gcra({ limit: 10, per: '1min' })) => {
    const get = (key: string) => ({ ...kept.get(key), now: clock() });
    const put = (key: string, value: Uint8Array, expected: number | undefined) => {
      if (kept.get(key)?.version !== expected) return false;
      kept.set(key, { value, version: ++version });
      return true;
    };
    return createLimiter(policy, {
      store: casStore({ get, put }, { deadline: '30s' }),
      name: 'api',
    });
  };
}

describe('two processes whose clocks differ by an hour', () => {
  test('announce correct waits in the process whose clock is behind', async () => {
    const limiterAt = sharedService();
    const ahead = limiterAt(() => START + HOUR + elapsed);
    const behind = limiterAt(() => START + elapsed);
    await ahead.take('k', 10);
    const denied = await behind.take('k');
    expect(denied).toMatchObject({ allowed: false, retryAfter: 6000 });
    elapsed += denied.retryAfter;
    expect((await behind.take('k')).allowed).toBe(true);
    expect((await behind.take('k')).allowed).toBe(false);
  });

  test('admit exactly the rate, in any order of checks', async () => {
    const limiterAt = sharedService();
    const limiters = [limiterAt(() => START + HOUR + elapsed), limiterAt(() => START + elapsed)];
    // The process whose clock is ahead writes first, so the row continues in its time.
    await limiters[0]?.take('k', 10);
    let admitted = 0;
    for (let i = 0; i < 600; i++) {
      elapsed += 1000;
      const limiter = limiters[(i * 7) % 3 === 0 ? 0 : 1];
      if ((await limiter?.take('k'))?.allowed) admitted++;
    }
    expect(admitted).toBeLessThanOrEqual(100);
    expect(admitted).toBeGreaterThanOrEqual(90);
  });

  test('cause a single warning', async () => {
    const limiterAt = sharedService();
    await limiterAt(() => START + HOUR).take('k');
    const behind = limiterAt(() => START);
    await behind.take('k');
    await behind.take('k');
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual(['SLUICE_CLOCK_SKEW']);
  });
});

describe('a clock that was 30 days ahead and is set back', () => {
  test.each([
    ['gcra', gcra({ limit: 10, per: '1min' }), 6000],
    ['fixed window', fixedWindow({ limit: 10, per: '1min', align: 'first' }), MINUTE],
  ])('causes no denial that is longer than announced: %s', async (_, policy, wait) => {
    const limiterAt = sharedService();
    let jump = 30 * DAY;
    const limiter = limiterAt(() => START + jump + elapsed, policy);
    await limiter.take('k', 10);
    jump = 0;
    const denied = await limiter.take('k');
    expect(denied).toMatchObject({ allowed: false, retryAfter: wait });
    elapsed += wait - 1;
    expect((await limiter.take('k')).allowed).toBe(false);
    elapsed += 1;
    expect((await limiter.take('k')).allowed).toBe(true);
  });

  test('creates no units, and a process that starts later finds the remaining units', async () => {
    const limiterAt = sharedService();
    await limiterAt(() => START + 30 * DAY).take('k', 8);
    expect((await limiterAt(() => START).take('k', 3)).allowed).toBe(false);
    expect((await limiterAt(() => START).take('k', 2)).allowed).toBe(true);
  });
});
