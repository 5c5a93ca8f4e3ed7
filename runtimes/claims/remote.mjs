// Claims about the store that sends its hits with the runtime's own fetch, Response and timers.
import { createLimiter, memory } from 'sluice';
import { decideRemoteHits, remote } from 'sluice/remote';
import { same, thrown } from './run.mjs';

/** A server that is called directly, without a network. @param {number[]} sizes receives the number of hits of each request */
function serverWith(sizes) {
  const decide = decideRemoteHits(memory());
  return async (/** @type {string} */ _url, /** @type {{ body: string }} */ { body }) => {
    const ask = JSON.parse(body);
    sizes.push(ask[1].length);
    return new Response(await decide(ask));
  };
}

/** @type {readonly import('./run.mjs').Claim[]} */
export const REMOTE = [
  {
    name: 'hits of one tick are sent to a server in one request, and share its counts',
    async run() {
      /** @type {number[]} */
      const sizes = [];
      const store = remote('http://limits.test', { fetch: serverWith(sizes), onFailure: 'throw' });
      const limiter = createLimiter('2/h', { store, name: 'api' });
      const decisions = await Promise.all([1, 2, 3].map(() => limiter.take('k')));
      same([decisions.map(({ allowed }) => allowed), sizes], [[true, true, false], [3]]);
      await store.close();
    },
  },
  {
    name: 'a server that cannot be reached is an outage',
    async run() {
      const options = /** @type {const} */ ({ onFailure: 'throw', deadline: '10s' });
      const unreachable = remote('http://127.0.0.1:1', options);
      const limiter = createLimiter('2/h', { store: unreachable, name: 'api' });
      same((await thrown(() => limiter.take('k'))).code, 'ERR_STORE_UNAVAILABLE');
      await unreachable.close();
    },
  },
];
