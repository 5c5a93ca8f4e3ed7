/** Writes a hit as the word that `lua/main.lua` describes. */
import type { Cost, Hit, Verb } from '../../engine/contract.ts';

const LETTERS: Readonly<Record<Exclude<Verb, 'take'>, string>> = {
  peek: 'k',
  refund: 'f',
  settle: 's',
  release: 'l',
  renew: 'n',
  reserve: 'r',
  block: 'b',
  reset: 'z',
};
const MODES = { whole: '', partial: 'p', always: 'a' } as const;

export function wordOf({ verb, mode, cost, span, of, keep }: Hit): string {
  const word = (verb === 'take' ? MODES[mode] : LETTERS[verb]) + listed(cost);
  const hasSpan = verb === 'reserve' || verb === 'block' || (verb === 'take' && mode === 'always');
  let second = of?.at === undefined ? '' : `${of.isGiven === true ? '@' : ''}${of.at}`;
  if (hasSpan) second = span === Infinity ? '1e308' : String(span);
  if (keep !== undefined) return `${word} ${second || '-'} ${listed(keep)}`;
  return second === '' ? word : `${word} ${second}`;
}

/** A cost as text. A list with one number ends with a comma. */
function listed(cost: Cost): string {
  return typeof cost === 'number' ? String(cost) : cost.length === 1 ? `${cost[0]},` : cost.join(',');
}
