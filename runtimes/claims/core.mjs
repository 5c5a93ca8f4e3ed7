// Claims about the core, which uses the runtime's timers, abort signals, errors, text functions and time zones.
import {
  casStore,
  concurrency,
  createLimiter,
  DeniedError,
  ERRORS,
  fixedWindow,
  leased,
  memory,
  SluiceError,
} from 'sluice';
import { conformance, manualClock } from 'sluice/testing';
import { matches, same, thrown } from './run.mjs';

/** @type {readonly import('./run.mjs').Claim[]} */
const own = [
  {
    name: 'a limiter in memory returns decisions synchronously',
    run() {
      const limiter = createLimiter('2/h & 5/day fixed-window', { name: 'once' });
      same(
        [limiter.take('k').allowed, limiter.take('k').allowed, limiter.take('k').allowed],
        [true, true, false],
      );
      const { retryAfter } = limiter.take('k');
      if (!(retryAfter > 1_790_000 && retryAfter <= 1_800_000)) throw new Error(`retry after ${retryAfter}`);
    },
  },
  {
    name: 'waiters are woken by a real timer, in order',
    async run() {
      const limiter = createLimiter('100/s burst 1');
      /** @type {string[]} */
      const order = [];
      await Promise.all(['a', 'b', 'c'].map((who) => limiter.acquire('k').then(() => order.push(who))));
      same(order, ['a', 'b', 'c']);
    },
  },
  {
    name: 'a call that times out while it waits is denied and charges nothing',
    async run() {
      const limiter = createLimiter('1/h');
      limiter.take('k');
      same((await limiter.acquire('k', { timeout: 5 })).allowed, false);
      limiter.refund('k');
      same(limiter.peek('k').remaining, 1);
    },
  },
  {
    name: 'a waiter that is aborted rejects with the reason of the signal',
    async run() {
      const limiter = createLimiter('1/h');
      limiter.take('k');
      const stop = new AbortController();
      const reason = new Error('enough');
      const waiting = thrown(() => limiter.acquire('k', { signal: stop.signal }));
      stop.abort(reason);
      if ((await waiting) !== reason) throw new Error('rejected with a different reason');
    },
  },
  {
    name: 'run holds a place during the call, and throws DeniedError if no place is free',
    async run() {
      const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
      /** @type {(value: string) => void} */
      let finish = () => {};
      const first = limiter.run('k', () => new Promise((resolve) => (finish = resolve)));
      const error = await thrown(() => limiter.run('k', () => 'second', { timeout: 0 }));
      same([error instanceof DeniedError, error.code], [true, 'ERR_DENIED']);
      finish('first');
      same([await first, await limiter.run('k', () => 'third')], ['first', 'third']);
    },
  },
  {
    name: 'takeMany charges all keys or none',
    run() {
      const address = createLimiter('10/h', { name: 'address' });
      const user = createLimiter('1/h', { name: 'user' });
      const ask = () => user.takeMany([{ key: 'u' }, { key: 'a', limiter: address }]).allowed;
      same([ask(), ask(), address.peek('a').remaining], [true, false, 9]);
    },
  },
  {
    name: 'an invalid argument throws a SluiceError with code, option and value',
    async run() {
      const error = await thrown(() => createLimiter('many/min'));
      same(
        [error instanceof SluiceError, error instanceof Error, error.code],
        [true, true, 'ERR_POLICY_TEXT'],
      );
      matches(error.message, /many\/min.*\[ERR_POLICY_TEXT\]$/s);
      same('ERR_COST' in ERRORS, true);
    },
  },
  {
    name: 'a calendar month in Berlin is an hour shorter when daylight saving time begins',
    run() {
      const clock = manualClock(Date.UTC(2027, 2, 1, 0, 0) - 3_600_000);
      const limiter = createLimiter(fixedWindow({ limit: 1, align: 'month', timeZone: 'Europe/Berlin' }), {
        store: memory({ clock }),
      });
      same(limiter.take('k').resetAfter, (31 * 24 - 1) * 3_600_000);
    },
  },
  {
    name: '20,000 keys have separate counts',
    run() {
      const limiter = createLimiter('1/h', { name: 'many' });
      let admitted = 0;
      for (let round = 0; round < 2; round++)
        for (let i = 0; i < 20_000; i++) if (limiter.take(`key ${i}`).allowed) admitted++;
      same(admitted, 20_000);
    },
  },
  {
    name: 'leases on a compare-and-swap store never admit more than the limit',
    async run() {
      /** @type {Map<string, { value: Uint8Array, version: number }>} */
      const rows = new Map();
      const store = leased(
        casStore({
          get: async (key) => rows.get(key),
          async put(key, value, version) {
            if (rows.get(key)?.version !== version) return false;
            rows.set(key, { value, version: (version ?? 0) + 1 });
            return true;
          },
        }),
      );
      const limiter = createLimiter('1000/h', { store, name: 'leased' });
      let admitted = 0;
      for (let i = 0; i < 1100; i++) if ((await limiter.take('k')).allowed) admitted++;
      await store.close();
      if (admitted < 500 || admitted > 1001) throw new Error(`${admitted} admitted`);
    },
  },
];

/** @type {readonly import('./run.mjs').Claim[]} */
export const CORE = [...own, ...conformance((clock) => memory({ clock }))];
