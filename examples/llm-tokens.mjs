// @ts-check
// One limiter for everything that a call to a language model uses: a request, tokens, money and one of eight places.
//
//   npm run build && node examples/llm-tokens.mjs

import { concurrency, createLimiter } from 'sluice';
import { startModel } from './llm/stub-model.mjs';

const { ask, stream, stop } = await startModel();
const limiter = createLimiter({
  requests: '500/min sliding-log',
  tokens: '30000/min sliding-log',
  dollars: '20/day fixed-window',
  running: concurrency({ limit: 8, lease: '30s' }),
});
const costOf = (/** @type {number} */ tokens) => ({ tokens, dollars: tokens * 0.00001 });
const estimate = costOf(4000); // `requests` and `running` are not named, so they cost 1

/** A call that fails uses nothing. @param {{ tokens: number } | undefined} reply */
const settle = (reply) => reply && costOf(reply.tokens);
const answer = (/** @type {string} */ text) =>
  limiter.run('acme', () => ask(text), { cost: estimate, settle });

/** When the stream ends, fails or is aborted, settles the words that have arrived. @param {AbortController} caller */
async function abortAfterTwo(caller) {
  const of = await limiter.acquire('acme', { cost: estimate, signal: caller.signal });
  limiter.keep('acme', { of }); // renews the place while the stream is open
  let words = 0;
  try {
    for await (const _word of stream('why?', caller.signal)) if (++words === 2) caller.abort();
  } finally {
    limiter.settle('acme', { used: costOf(words), of });
    limiter.release('acme', { of });
  }
}
console.log((await answer('why?')).text); // → the sky scatters blue light most
await answer('fail').catch(({ message }) => console.log(message)); // → status 500
await abortAfterTwo(new AbortController()).catch(({ name }) => console.log(name)); // → AbortError
stop();
console.log(limiter.peek('acme').policies.map(({ remaining }) => remaining)); // → [ 498, 29992, 19, 8 ]
