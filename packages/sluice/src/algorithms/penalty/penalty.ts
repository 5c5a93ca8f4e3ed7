/**
 * Blocks a key after repeated denials, for longer each time. It watches the limiter's other policies. Each of their denials is a
 * strike, and `after` strikes block the key. Attempts during the block do not count, so the announced end of the block is exact.
 *
 * Cells: strikes, since (the first strike, or the end of the last block), until (the block's end), length (of the block).
 */
import {
  type Algorithm,
  type Cells,
  TIME_EPSILON,
  isFarAhead,
  type Millis,
  type Policy,
} from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { SluiceError } from '../../internal/errors.ts';
import { atLeastOne, checkOptionNames, whole } from '../../internal/options.ts';
import type { AlgorithmEntry } from '../entry.ts';

export interface PenaltyOptions {
  /** The number of denials after which the key is blocked. */
  readonly after: number;
  /** The duration in which these denials must happen. */
  readonly within: Duration;
  /** How long the first block lasts. */
  readonly block: Duration;
  /**
   * How many times longer each block is than the previous one. The length starts at `block` again once `within` has passed without
   * a new block. Default 2.
   */
  readonly factor?: number | undefined;
  /** The longest block. Default one day, or `block` if that is longer. */
  readonly max?: Duration | undefined;
}

export type PenaltyParams = {
  readonly after: number;
  readonly within: Millis;
  readonly block: Millis;
  readonly factor: number;
  readonly max: Millis;
};

export const penaltyAlgorithm: Algorithm<PenaltyParams> = {
  name: 'penalty',
  countsDenials: true,
  width: () => 4,
  available: (p, row, at, now) => (blockLeft(p, row, at, now) > 0 ? 0 : Infinity),
  waitFor: blockLeft,
  take(p, row, at, now) {
    if (blockLeft(p, row, at, now) > 0) return;
    if (quiet(p, row, at, now)) row.fill(0, at, at + 4);
    if (row[at] === 0) row[at + 1] = Math.max(now, row[at + 1]);
    row[at] += 1;
    if (row[at] < p.after) return;
    row[at + 3] = Math.min(row[at + 3] === 0 ? p.block : row[at + 3] * p.factor, p.max);
    row[at + 2] = now + row[at + 3];
    row[at + 1] = row[at + 2];
    row[at] = 0;
  },
  /** A refund does not remove strikes. */
  give() {},
  clearIn: (p, row, at, now) =>
    row[at + 1] === 0 || quiet(p, row, at, now) ? 0 : row[at + 1] + p.within - now,
};

function blockLeft(p: PenaltyParams, row: Cells, at: number, now: Millis): Millis {
  const wait = row[at + 2] - now;
  return wait > TIME_EPSILON && !isWrong(p, row, at, now) ? wait : 0;
}

/**
 * Whether all strikes are forgiven, because the first strike or the end of the last block is more than `within` ago, or because
 * only a wrong clock can have written the row.
 */
function quiet(p: PenaltyParams, row: Cells, at: number, now: Millis): boolean {
  return row[at + 1] + p.within <= now + TIME_EPSILON || isWrong(p, row, at, now);
}

/** Whether the row can only have been written by a clock that was wrong. */
function isWrong(p: PenaltyParams, row: Cells, at: number, now: Millis): boolean {
  const written = row[at + 1] === row[at + 2] ? row[at + 1] - row[at + 3] : row[at + 1];
  return isFarAhead(written, now, p.within);
}

/** Blocks a key after repeated denials by the limiter's other policies, for longer each time. */
export function penalty(options: PenaltyOptions): Policy {
  const {
    after,
    within,
    block,
    factor = 2,
    max,
  } = checkOptionNames('penalty', options, ['after', 'within', 'block', 'factor', 'max']);
  const length = duration('penalty.block', block);
  const longest = max === undefined ? Math.max(length, 86_400_000) : duration('penalty.max', max);
  if (longest < length)
    throw new SluiceError('ERR_DURATION', 'penalty.max', max, '', 'must be at least as long as block');
  const params: PenaltyParams = {
    after: whole('penalty.after', after),
    within: duration('penalty.within', within),
    block: length,
    factor: atLeastOne('penalty.factor', factor),
    max: longest,
  };
  // A penalty is not a quota, so it has no remaining units to announce.
  return { algorithm: penaltyAlgorithm, params, limit: Infinity, window: params.within };
}

export const penaltyEntry: AlgorithmEntry = { factory: penalty, algorithms: [penaltyAlgorithm] };
