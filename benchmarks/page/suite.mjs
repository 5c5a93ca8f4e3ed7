/** Measures frames of the playground page with 100,000 requests, while the page decides the requests and while it plays them. */
import { measureFrames } from '../../packages/playground/frames.mjs';
import { table } from '../report.mjs';

export async function run({ quick }) {
  const { events, lanes, deciding, playing, version } = await measureFrames(quick ? 1 : 8);
  const seconds = playing.intervals.reduce((sum, one) => sum + one, 0) / 1000;
  const rate = playing.intervals.length / seconds;
  const isMet = rate >= 59;
  return [
    table(
      ['frames of the page', 'frames', 'between two, median', 'p99', "page's own work, median", 'p99'],
      [row('while it decides', deciding), row('while it plays', playing)],
    ),
    '',
    `${events.toLocaleString('en')} requests in ${lanes} lanes, chromium ${version} without a graphics card, 1440 × 900.`,
    `Goal of 60 frames a second while it plays: ${rate.toFixed(1)}, ${isMet ? 'met' : 'NOT met'}.`,
  ].join('\n');
}

function row(name, { intervals, work }) {
  const [gaps, own] = [intervals, work].map((list) => list.toSorted((a, b) => a - b));
  const at = (list, share) => `${(list[Math.floor((list.length - 1) * share)] ?? 0).toFixed(1)} ms`;
  return [name, work.length, at(gaps, 0.5), at(gaps, 0.99), at(own, 0.5), at(own, 0.99)];
}
