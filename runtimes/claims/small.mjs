// `sluice/core`, the small limiter: by itself, and beside the whole one.
import { casStore, createLimiter as createWhole } from 'sluice';
import * as core from 'sluice/core';
import { manualClock } from 'sluice/testing';
import { same, thrown } from './run.mjs';

const MINUTE = 60_000;
/** @type {Readonly<Record<string, core.Policy>>} */
const POLICIES = {
  gcra: core.gcra({ limit: 5, per: MINUTE }),
  tokenBucket: core.tokenBucket({ capacity: 5, refill: 5, every: MINUTE, continuous: false }),
  leakyBucket: core.leakyBucket({ size: 5, dripSize: 1, dripRate: 12_000 }),
  fixedWindow: core.fixedWindow({ limit: 5, per: MINUTE }),
  calendar: core.fixedWindow({ limit: 5, align: 'day', timeZone: 'Asia/Kathmandu' }),
  slidingWindow: core.slidingWindow({ limit: 5, per: MINUTE }),
  slidingLog: core.slidingLog({ limit: 5, per: MINUTE }),
  concurrency: core.concurrency({ limit: 5, lease: MINUTE }),
  pacer: core.pacer({ limit: 5, per: MINUTE, maxBurst: 5 }),
  minInterval: core.minInterval({ every: 12_000 }),
};

/** @type {readonly import('./run.mjs').Claim[]} */
export const SMALL = [
  {
    name: 'the small limiter answers at once, by its own clock',
    run() {
      const limiter = core.createLimiter(core.gcra({ limit: 2, per: '1h' }));
      same([limiter.take('k').allowed, limiter.take('k').allowed], [true, true]);
      const { allowed, retryAfter } = limiter.take('k');
      same([allowed, retryAfter > 1_790_000 && retryAfter <= 1_800_000], [false, true]);
    },
  },
  {
    name: 'the small limiter takes, looks, gives back, blocks and forgets',
    run() {
      const limiter = core.createLimiter({
        hour: core.fixedWindow({ limit: 3, per: '1h' }),
        lockout: core.penalty({ after: 2, within: '1h', block: '1h' }),
      });
      same([limiter.take('k', 2).remaining, limiter.peek('k').remaining], [1, 1]);
      same([limiter.take('k', { cost: 5, mode: 'partial' }).taken, limiter.refund('k', 2).remaining], [1, 2]);
      same([limiter.block('k', '1m').policy, limiter.take('k').allowed], ['block', false]);
      same([limiter.reset('k').remaining, limiter.take('k').allowed], [3, true]);
      for (let i = 0; i < 2; i++) limiter.take('k', 3);
      same(limiter.take('k').policy, 'lockout');
    },
  },
  ...Object.entries(POLICIES).map(([kind, policy]) => ({
    name: `the small limiter decides as the whole one: ${kind}`,
    run() {
      const clock = manualClock(1_700_000_000_000);
      const small = core.createLimiter({ one: policy }, { store: core.memory({ clock }) });
      const whole = createWhole({ one: policy }, { store: core.memory({ clock }) });
      for (let step = 0; step < 300; step++) {
        clock.advance((step * 7919) % 9001);
        const cost = step % 4;
        const verb = /** @type {const} */ (['take', 'take', 'peek', 'refund', 'release'])[step % 5] ?? 'take';
        same(small[verb]('k', cost), whole[verb]('k', cost));
      }
    },
  })),
  {
    name: 'the small limiter asks another store, and then answers later',
    async run() {
      /** @type {Map<string, { value: Uint8Array, version: number }>} */
      const rows = new Map();
      const store = casStore({
        get: (key) => rows.get(key),
        put(key, value, version) {
          if (rows.get(key)?.version !== version) return false;
          rows.set(key, { value, version: (version ?? 0) + 1 });
          return true;
        },
      });
      const limiter = core.createLimiter(core.slidingLog({ limit: 2, per: '1h' }), { store, name: 'small' });
      const answers = await Promise.all([limiter.take('k'), limiter.take('k'), limiter.take('k')]);
      same(
        answers.map(({ allowed }) => allowed),
        [true, true, false],
      );
    },
  },
  {
    name: 'the small limiter says what it does not have',
    async run() {
      const limiter = core.createLimiter(core.gcra({ limit: 2, per: '1h' }));
      same((await thrown(() => limiter.take('k', { tier: 'pro' }))).code, 'ERR_TIER');
      const text = /** @type {core.Policy} */ (/** @type {unknown} */ ('2/h'));
      same((await thrown(() => core.createLimiter(text))) instanceof core.SluiceError, true);
    },
  },
];
