// @ts-check
// Draws what each algorithm admits, by sending the same traffic through the real limiter on a manual clock. The SVG is saved next
// to the algorithm's README. `node site/pictures/algorithms.mjs` writes the files (needs a build); `--check` compares them.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { colorOf } from './logo.mjs';

/** @typedef {typeof import('sluice') & typeof import('sluice/testing')} Library */
/**
 * One limiter that gets the traffic.
 * @typedef {object} Lane
 * @property {string} label what the caller would write
 * @property {(library: Library) => import('sluice').Policies} policies
 * @property {number} top the maximum of the curve's axis
 * @property {'free' | 'wait'} [curve] the units available now (default), or the seconds until the next request is admitted
 * @property {(nth: number) => number} [holdFor] milliseconds until the nth admitted request releases its unit; Infinity if never
 */
/** @typedef {{ title: string, lanes: Lane[] }} Picture */

const SECOND = 1000;
/** The duration shown, and the window of every lane's limit. */
const END = 40 * SECOND;
const PER = 10 * SECOND;

/** A burst on either side of the window boundary at 10 s, a pause, then a steady rate of twice the limit. */
const TRAFFIC = [...every(150, 8000, 12), ...every(150, 10_100, 12), ...every(500, 20_050, 36)];

/** @type {Readonly<Record<string, Picture>>} by the algorithm's folder */
export const PICTURES = {
  gcra: {
    title: 'An even rate with a burst',
    lanes: [
      {
        label: "gcra({ limit: 10, per: '10s' })",
        policies: ({ gcra }) => gcra({ limit: 10, per: '10s' }),
        top: 10,
      },
      {
        label: "gcra({ limit: 10, per: '10s', burst: 3 })",
        policies: ({ gcra }) => gcra({ limit: 10, per: '10s', burst: 3 }),
        top: 10,
      },
    ],
  },
  'token-bucket': {
    title: 'Tokens that trickle in, and tokens that come in steps',
    lanes: [
      {
        label: "tokenBucket({ capacity: 10, refill: 5, every: '5s' })",
        policies: ({ tokenBucket }) => tokenBucket({ capacity: 10, refill: 5, every: '5s' }),
        top: 10,
      },
      {
        label: "tokenBucket({ capacity: 10, refill: 5, every: '5s', continuous: false })",
        policies: ({ tokenBucket }) =>
          tokenBucket({ capacity: 10, refill: 5, every: '5s', continuous: false }),
        top: 10,
      },
    ],
  },
  'leaky-bucket': {
    title: 'A bucket that empties in drips',
    lanes: [
      {
        label: "leakyBucket({ size: 10, dripRate: '1s' })",
        policies: ({ leakyBucket }) => leakyBucket({ size: 10, dripRate: '1s' }),
        top: 10,
      },
      {
        label: "leakyBucket({ size: 10, dripSize: 5, dripRate: '5s' })",
        policies: ({ leakyBucket }) => leakyBucket({ size: 10, dripSize: 5, dripRate: '5s' }),
        top: 10,
      },
    ],
  },
  'fixed-window': {
    title: 'A count that starts again with each window',
    lanes: [
      {
        label: "fixedWindow({ limit: 10, per: '10s' })",
        policies: ({ fixedWindow }) => fixedWindow({ limit: 10, per: '10s' }),
        top: 10,
      },
      {
        label: "fixedWindow({ limit: 10, per: '10s', align: 'first' })",
        policies: ({ fixedWindow }) => fixedWindow({ limit: 10, per: '10s', align: 'first' }),
        top: 10,
      },
    ],
  },
  'sliding-window': {
    title: 'Two counters, the older one fading',
    lanes: [
      {
        label: "slidingWindow({ limit: 10, per: '10s' })",
        policies: ({ slidingWindow }) => slidingWindow({ limit: 10, per: '10s' }),
        top: 10,
      },
    ],
  },
  'sliding-log': {
    title: 'A log of when each unit was taken',
    lanes: [
      {
        label: "slidingLog({ limit: 10, per: '10s' })",
        policies: ({ slidingLog }) => slidingLog({ limit: 10, per: '10s' }),
        top: 10,
      },
      {
        label: "slidingLog({ limit: 10, per: '10s', resolution: 4 })",
        policies: ({ slidingLog }) => slidingLog({ limit: 10, per: '10s', resolution: 4 }),
        top: 10,
      },
    ],
  },
  pacer: {
    title: 'A smooth outflow: each request delays the next',
    lanes: [
      {
        label: "pacer({ limit: 10, per: '10s', maxBurst: 4 })",
        policies: ({ pacer }) => pacer({ limit: 10, per: '10s', maxBurst: 4 }),
        top: 3,
        curve: 'wait',
      },
      {
        label: "pacer({ limit: 10, per: '10s', warmup: '6s' })",
        policies: ({ pacer }) => pacer({ limit: 10, per: '10s', warmup: '6s' }),
        top: 3,
        curve: 'wait',
      },
    ],
  },
  'min-interval': {
    title: 'A minimum time between two actions',
    lanes: [
      {
        label: "minInterval({ every: '1s' })",
        policies: ({ minInterval }) => minInterval({ every: '1s' }),
        top: 1,
      },
    ],
  },
  concurrency: {
    title: 'Places that are held and given back',
    lanes: [
      {
        label: "concurrency({ limit: 3, lease: '6s' }), each place is held for 0.8 s",
        policies: ({ concurrency }) => concurrency({ limit: 3, lease: '6s' }),
        top: 3,
        holdFor: () => 800,
      },
      {
        label: "concurrency({ limit: 3, lease: '6s' }), every fifth is never released",
        policies: ({ concurrency }) => concurrency({ limit: 3, lease: '6s' }),
        top: 3,
        holdFor: (nth) => (nth % 5 === 0 ? Infinity : 800),
      },
    ],
  },
  penalty: {
    title: 'Denials that lead to a block',
    lanes: [
      {
        label: "gcra({ limit: 10, per: '10s', burst: 5 })",
        policies: ({ gcra }) => gcra({ limit: 10, per: '10s', burst: 5 }),
        top: 5,
      },
      {
        label: "the same, with penalty({ after: 8, within: '15s', block: '3s' })",
        policies: ({ gcra, penalty }) => ({
          rate: gcra({ limit: 10, per: '10s', burst: 5 }),
          penalty: penalty({ after: 8, within: '15s', block: '3s' }),
        }),
        top: 5,
      },
    ],
  },
};

/** @param {number} gap @param {number} from @param {number} count */
function every(gap, from, count) {
  return Array.from({ length: count }, (_, i) => from + i * gap);
}

// ── Simulation ──────────────────────────────────────────────────────────────────────────────────────────────────

/** @typedef {{ admitted: number[], denied: number[], curve: [at: number, value: number][] }} Timeline */

/** @param {Lane} lane @param {Library} library @returns {Timeline} */
function play(lane, library) {
  const clock = library.manualClock();
  const limiter = library.createLimiter(lane.policies(library), { store: library.memory({ clock }) });
  /** @type {Timeline} */
  const timeline = { admitted: [], denied: [], curve: [] };
  const measure = () => timeline.curve.push([clock.now(), lane.curve === 'wait' ? waitNow() : freeNow()]);
  const waitNow = () => limiter.peek('key').retryAfter / SECOND;

  /** The largest cost that is admitted, including fractions, which is `remaining` without rounding. */
  function freeNow() {
    let [low, high] = [0, lane.top];
    if (limiter.peek('key', high).allowed) return high;
    for (let i = 0; i < 12; i++) {
      const middle = (low + high) / 2;
      if (limiter.peek('key', middle).allowed) low = middle;
      else high = middle;
    }
    return low;
  }

  /** @param {() => void} change */
  function step(change) {
    measure();
    change();
    measure();
  }

  function arrive() {
    const { allowed } = limiter.take('key');
    (allowed ? timeline.admitted : timeline.denied).push(clock.now());
    if (!allowed || lane.holdFor === undefined) return;
    const held = lane.holdFor(timeline.admitted.length);
    if (held < Infinity) clock.after(held, () => step(() => limiter.release('key')));
  }

  const arrivals = new Set(TRAFFIC);
  // The curve is also sampled just before each round instant, so that a step is drawn as a vertical line.
  const instants = new Set([...TRAFFIC, ...every(50, 0, END / 50 + 1), ...every(50, 49, END / 50)]);
  for (const instant of [...instants].sort((a, b) => a - b)) {
    clock.set(instant);
    if (arrivals.has(instant)) step(arrive);
    else measure();
  }
  return timeline;
}

/** The window with the most admitted requests. If several windows tie, the first of them. @param {number[]} admitted */
function busiest(admitted) {
  let most = { from: 0, count: 0 };
  for (const from of admitted) {
    const count = admitted.filter((at) => at >= from && at < from + PER).length;
    if (count > most.count) most = { from, count };
  }
  return most;
}

// ── Drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────

const LEFT = 28;
const WIDTH = 720;
const RIGHT = 14;
const LANE = 124;
const CURVE = 44;

/** The lines of the style sheet that depend on the theme. @param {import('./logo.mjs').Theme} theme */
function themed(theme) {
  const [ink, muted, admitted, denied, level] = ['ink', 'muted', 'admitted', 'denied', 'level'].map((name) =>
    colorOf(name, theme),
  );
  return `text{fill:${muted}}
.label{fill:${ink}}
.yes{stroke:${admitted}}
.no{stroke:${denied}}
.curve{stroke:${level}}
.area{fill:${level}}
.span{stroke:${muted}}`;
}

const STYLE = `
text{font:11px system-ui,sans-serif}
.label{font:12px ui-monospace,monospace}
.grid{stroke:#8c959f;stroke-opacity:.45;stroke-dasharray:2 3}
.base{stroke:#8c959f}
.yes,.no{stroke-width:2}
.curve{stroke-width:1.5;fill:none}
.area{fill-opacity:.12}
.span{fill:none}
${themed('light')}
@media(prefers-color-scheme:dark){
${themed('dark')}
}
`;

/** @param {number} at */
const place = (at) => LEFT + (at / END) * (WIDTH - LEFT - RIGHT);
/** @param {number} at */
const x = (at) => round(place(at));
/** @param {number} value */
const round = (value) => Number(value.toFixed(1));

/**
 * The picture of one algorithm.
 * @param {string} name its folder
 * @param {Library} library
 */
export function render(name, library) {
  const picture = PICTURES[name];
  const foot = 8 + picture.lanes.length * LANE;
  const height = foot + 36;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(picture.title)}</title>`,
    `<style>${STYLE}</style>`,
    ...picture.lanes.map((lane, i) => drawLane(lane, play(lane, library), 8 + i * LANE)),
    ...every(5 * SECOND, 0, END / 5 / SECOND + 1).map(
      (at) => `<text x="${x(at)}" y="${foot + 13}" text-anchor="middle">${at / SECOND} s</text>`,
    ),
    drawLegend(picture, foot + 29),
    '</svg>\n',
  ].join('\n');
}

/** @param {Lane} lane @param {Timeline} timeline @param {number} top */
function drawLane(lane, { admitted, denied, curve }, top) {
  const base = top + 50;
  const floor = base + 16 + CURVE;
  /** @param {number} value */
  const y = (value) => floor - (Math.min(value, lane.top) / lane.top) * CURVE;
  const points = straightened(curve.map(([at, value]) => [place(at), y(value)]));
  const line = points.map(([px, py]) => `${round(px)} ${round(py)}`).join('L');
  const { from, count } = busiest(admitted);
  const middle = round((x(from) + x(from + PER)) / 2);
  const total = admitted.length + denied.length;
  return [
    `<path class="grid" d="${every(PER, 0, END / PER + 1)
      .map((at) => `M${x(at)} ${top + 18}V${floor}`)
      .join('')}"/>`,
    `<text class="label" x="${LEFT}" y="${top + 11}">${escaped(lane.label)}</text>`,
    `<text x="${WIDTH - RIGHT}" y="${top + 11}" text-anchor="end">${admitted.length} of ${total} pass</text>`,
    `<path class="span" d="M${x(from)} ${base - 17}v-5H${x(from + PER)}v5"/>`,
    `<text x="${middle}" y="${base - 25}" text-anchor="middle">${count} in 10 s</text>`,
    `<path class="base" d="M${x(0)} ${base}H${x(END)}"/>`,
    `<path class="yes" d="${admitted.map((at) => `M${x(at)} ${base}v-14`).join('')}"/>`,
    `<path class="no" d="${denied.map((at) => `M${x(at)} ${base}v8`).join('')}"/>`,
    `<path class="area" d="M${x(0)} ${floor}L${line}V${floor}Z"/>`,
    `<path class="curve" d="M${line}"/>`,
    `<path class="base" d="M${x(0)} ${floor}H${x(END)}"/>`,
    `<text x="${LEFT - 5}" y="${floor + 4}" text-anchor="end">0</text>`,
    `<text x="${LEFT - 5}" y="${floor - CURVE + 5}" text-anchor="end">${lane.top}${lane.curve === 'wait' ? ' s' : ''}</text>`,
  ].join('\n');
}

/** @param {Picture} picture @param {number} y */
function drawLegend({ lanes }, y) {
  const curve = lanes[0]?.curve === 'wait' ? 'seconds until the next passes' : 'units available now';
  return [
    `<path class="yes" d="M${LEFT + 4} ${y}v-10"/><text x="${LEFT + 10}" y="${y}">passes</text>`,
    `<path class="no" d="M${LEFT + 64} ${y}v-7"/><text x="${LEFT + 70}" y="${y}">denied</text>`,
    `<path class="curve" d="M${LEFT + 122} ${y - 4}h14"/><text x="${LEFT + 141}" y="${y}">${curve}</text>`,
    `<text x="${WIDTH - RIGHT}" y="${y}" text-anchor="end">bracket: the busiest 10 s</text>`,
  ].join('\n');
}

/**
 * Removes the points that are on a straight line between two other points.
 * @param {[number, number][]} points
 */
function straightened(points) {
  const kept = points.slice(0, 1);
  let from = 0;
  for (let to = 2; to < points.length; to++) {
    if (points.slice(from + 1, to).every((point) => isBetween(points[from], point, points[to]))) continue;
    from = to - 1;
    kept.push(points[from]);
  }
  return [...kept, ...points.slice(-1)];
}

/** Whether `b` is on the line from `a` to `c`, within an eighth of a pixel. @param {[number, number]} a @param {[number, number]} b @param {[number, number]} c */
function isBetween(a, b, c) {
  const [run, rise] = [c[0] - a[0], c[1] - a[1]];
  const along = (b[0] - a[0]) * run + (b[1] - a[1]) * rise;
  const aside = Math.abs((b[0] - a[0]) * rise - (b[1] - a[1]) * run);
  const length = Math.hypot(run, rise);
  return aside <= 0.125 * length && along >= 0 && along <= length * length;
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

// ── Command ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** The path of a picture. @param {string} name */
export function fileOf(name) {
  const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
  return join(root, 'packages/sluice/src/algorithms', name, `${name}.svg`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const library = { ...(await import('sluice')), ...(await import('sluice/testing')) };
  const names = Object.keys(library.algorithms);
  if (process.argv.includes('--check')) {
    const stale = names.filter(
      (name) => !existsSync(fileOf(name)) || readFileSync(fileOf(name), 'utf8') !== render(name, library),
    );
    if (stale.length > 0) {
      console.error(
        `these pictures are not up to date: ${stale.join(', ')}\nIf the change is intended, run: node site/pictures/algorithms.mjs`,
      );
      process.exitCode = 1;
    } else console.log(`${names.length} pictures are up to date`);
  } else {
    for (const name of names) writeFileSync(fileOf(name), render(name, library));
    console.log(`pictures: wrote ${names.length}`);
  }
}
