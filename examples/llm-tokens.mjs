// @ts-check
// Limits the tokens of a language model. Reserves the maximum cost of a call, and settles when the actual cost is known.
//
//   npm run build && node examples/llm-tokens.mjs

import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter } from 'sluice';

// The provider allows us 60,000 tokens a minute, which is the burst plus the rate. We allow each user a budget per day.
const provider = createLimiter('50000/min burst 10000');
const budget = createLimiter({ day: '20000/day fixed-window' });

/** @param {string} user @param {string} prompt @param {number} maxOutput */
async function ask(user, prompt, maxOutput) {
  const deposit = Math.ceil(prompt.length / 4) + maxOutput;
  const decision = budget.take(user, deposit);
  if (!decision.allowed) return `no: ${decision.remaining} tokens are left for today`;
  // The cost is charged now, for a turn that may be in the future.
  const turn = provider.reserve('model', { cost: deposit, maxDelay: '20s' });
  if (!turn.decision.allowed) budget.refund(user, deposit);
  if (!turn.decision.allowed) return 'busy';
  await sleep(turn.delay);
  const { text, used } = await model(prompt, maxOutput);
  settle(budget, user, deposit - used);
  settle(provider, 'model', deposit - used);
  return text;
}

/** Refunds unused tokens, or charges the excess in full. @param {typeof budget} limiter @param {string} key @param {number} unused */
function settle(limiter, key, unused) {
  if (unused > 0) limiter.refund(key, unused);
  else limiter.take(key, { cost: -unused, mode: 'always', maxDelay: Infinity });
}

/** Stands in for a real model. @param {string} prompt @param {number} maxOutput */
const model = async (prompt, maxOutput) => ({ text: `about ${prompt}`, used: Math.min(900, maxOutput) });

console.log(await ask('alice', 'the sky', 8000)); // → about the sky
console.log(budget.peek('alice').remaining); // → 19100
console.log(await ask('alice', 'the whole sea', 20_000)); // → no: 19100 tokens are left for today
