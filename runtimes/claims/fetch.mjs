// Claims about web-standard handlers and outgoing calls with the runtime's own Request, Response and streams.
import { concurrency, createLimiter, memory } from 'sluice';
import { withRateLimit } from 'sluice/fetch';
import { key, limitedFetch } from 'sluice/http';
import { manualClock } from 'sluice/testing';
import { matches, same, thrown } from './run.mjs';

const get = (headers = {}) => new Request('http://service.test/', { headers });
const hello = () => new Response('hello');
const one = () => 'one';

/** @type {readonly import('./run.mjs').Claim[]} */
export const FETCH = [
  {
    name: 'an allowed response has the RateLimit header fields',
    async run() {
      const handler = withRateLimit(
        { limiter: createLimiter({ hour: '2/h fixed-window' }), key: one },
        hello,
      );
      const response = await handler(get());
      same([response.status, await response.text()], [200, 'hello']);
      same(response.headers.get('ratelimit-policy'), '"hour";q=2;w=3600');
      matches(response.headers.get('ratelimit'), /^"hour";r=1;t=\d+$/);
    },
  },
  {
    name: 'a denied request gets 429 with Retry-After and problem details, and does not reach the handler',
    async run() {
      let handled = 0;
      const handler = withRateLimit({ limiter: createLimiter({ hour: '1/h' }), key: one }, () => {
        handled++;
        return hello();
      });
      await handler(get());
      const refused = await handler(get());
      same([refused.status, handled], [429, 1]);
      matches(refused.headers.get('retry-after'), /^\d+$/);
      same(refused.headers.get('content-type'), 'application/problem+json');
      same((await refused.json())['violated-policies'], ['hour']);
    },
  },
  {
    name: 'requests are counted by the key that the key function returns',
    async run() {
      const handler = withRateLimit(
        {
          limiter: createLimiter('1/h'),
          key: ({ request }) => key(request.method, request.headers.get('x-api-key') ?? 'anonymous'),
        },
        hello,
      );
      const status = async (/** @type {string} */ name) => (await handler(get({ 'x-api-key': name }))).status;
      same([await status('a'), await status('a'), await status('b')], [200, 429, 200]);
    },
  },
  {
    name: 'clients are identified by the address of their connection on each platform',
    async run() {
      const handler = withRateLimit(createLimiter('1/h'), hello);
      const bun = { requestIP: () => ({ address: '192.0.2.1' }) };
      const deno = { remoteAddr: { hostname: '192.0.2.2' } };
      const node = { incoming: { socket: { remoteAddress: '192.0.2.3' } } };
      const seen = [];
      for (const context of [bun, deno, node, bun, deno, node])
        seen.push((await handler(get(), context)).status);
      same(seen, [200, 200, 200, 429, 429, 429]);
    },
  },
  {
    name: 'a request without a client address throws instead of passing unlimited',
    async run() {
      same((await thrown(() => withRateLimit(createLimiter('1/h'), hello)(get()))).code, 'ERR_ADDRESS');
    },
  },
  {
    name: 'immutable headers are copied, and a missing body stays null',
    async run() {
      const options = { limiter: createLimiter('9/h'), key: one };
      const moved = await withRateLimit(options, () => Response.redirect('http://service.test/new', 302))(
        get(),
      );
      same([moved.status, moved.headers.get('location')], [302, 'http://service.test/new']);
      matches(moved.headers.get('ratelimit'), /r=8/);
      const empty = await withRateLimit(options, () => new Response(null, { status: 204 }))(get());
      same([empty.status, empty.body], [204, null]);
    },
  },
  {
    name: 'a place is held until the body has been read completely',
    async run() {
      const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
      const handler = withRateLimit({ limiter, key: one }, () => new Response('x'.repeat(100_000)));
      const response = await handler(get());
      same([limiter.peek('one').remaining, (await handler(get())).status], [0, 429]);
      same((await response.text()).length, 100_000);
      same(limiter.peek('one').remaining, 1);
    },
  },
  {
    name: 'the cost of a request is settled once its response has been sent',
    async run() {
      const limiter = createLimiter('100/h fixed-window');
      const handler = withRateLimit({ limiter, key: one, cost: 10, settle: () => 3 }, hello);
      const response = await handler(get());
      same(limiter.peek('one').remaining, 90);
      await response.text();
      same(limiter.peek('one').remaining, 97);
    },
  },
  {
    name: 'a handler that throws releases its place',
    async run() {
      const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
      const handler = withRateLimit({ limiter, key: one }, () => {
        throw new TypeError('fault');
      });
      same([(await thrown(() => handler(get()))).message, limiter.peek('one').remaining], ['fault', 1]);
    },
  },
  {
    name: 'limitedFetch waits for its turn and honors Retry-After of a server',
    async run() {
      const clock = manualClock();
      /** @type {number[]} */
      const asked = [];
      const server = async () => {
        asked.push(clock.now());
        return asked.length === 1
          ? new Response(null, { status: 429, headers: { 'retry-after': '7' } })
          : hello();
      };
      const start = clock.now();
      const limiter = createLimiter('1/s', { store: memory({ clock }) });
      const polite = limitedFetch(server, { limiter, clock, random: () => 0 });
      const answer = polite('http://service.test/');
      for (let second = 0; second < 20; second++) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        clock.advance(1000);
      }
      same(await (await answer).text(), 'hello');
      same(asked.length, 2);
      if ((asked[1] ?? 0) - start < 7000) throw new Error(`retried after ${(asked[1] ?? 0) - start} ms`);
    },
  },
];
