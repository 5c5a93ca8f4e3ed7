/** The story, a chapter per idea. The pictures run what the chapter's own line of code says. */
import {
  fixedWindow,
  gcra,
  leakyBucket,
  type Millis,
  pacer,
  type Policies,
  slidingLog,
  slidingWindow,
} from 'sluice';

export interface Chapter {
  readonly id: string;
  readonly title: string;
  readonly text: readonly string[];
  readonly code: string;
  readonly policies: Policies;
  readonly script: readonly Millis[];
  readonly round: Millis;
  readonly windows?: 'edges' | 'slides';
  readonly waits?: boolean;
  readonly good: string;
  readonly beware: string;
  /** What the playground would show of it. */
  readonly query: string;
}

const LIMIT = 6;
const PER: Millis = 5000;

/** A burst over the edge at 5 s, a pause, then two a second. */
const EDGE: readonly Millis[] = [
  ...Array.from({ length: 12 }, (_, i) => 3800 + i * 200),
  ...Array.from({ length: 18 }, (_, i) => 10_250 + i * 500),
];
const ROUND: Millis = 20_000;

const query = (limit: string, traffic = 'edge', more = '') =>
  `limit=${encodeURIComponent(limit)}&traffic=${traffic}${more}`;

const common = { script: EDGE, round: ROUND } as const;

export const CHAPTERS: readonly Chapter[] = [
  {
    ...common,
    id: 'fixed-window',
    title: 'Buckets of time',
    text: [
      'Cut time into boxes of five seconds and count the requests in each. When a box is full, the rest is denied; with the next box, counting starts anew.',
      'It costs two numbers and anybody understands it. But look at an edge: six at the end of one box and six at the start of the next are twelve in two seconds, and each box is within its limit.',
    ],
    code: "fixedWindow({ limit: 6, per: '5s' })",
    policies: fixedWindow({ limit: LIMIT, per: PER }),
    windows: 'edges',
    good: 'quotas that people count themselves: 5000 a day, 100 a month',
    beware: 'twice the limit can pass around an edge',
    query: query('10/10s fixed-window'),
  },
  {
    ...common,
    id: 'sliding-window',
    title: 'A window that slides',
    text: [
      'Keep the count of the last box too, and let it fade: when two fifths of the new box have passed, three fifths of the old count still matter. The estimate moves as a window would that ends now.',
      'The burst over the edge is caught, with one number more. It assumes that the old requests came evenly; when they did not, it denies a few too many or a few too few.',
    ],
    code: "slidingWindow({ limit: 6, per: '5s' })",
    policies: slidingWindow({ limit: LIMIT, per: PER }),
    windows: 'slides',
    good: 'many keys, a fair limit, little memory',
    beware: 'it is an estimate',
    query: query('10/10s sliding-window'),
  },
  {
    ...common,
    id: 'sliding-log',
    title: 'Writing everything down',
    text: [
      'Remember when each admitted request came, and count those of the last five seconds. Nothing is estimated: no window of that length, wherever it begins, ever holds more than the limit.',
      'A place comes back exactly five seconds after it was taken. The price is a number per remembered request. With a resolution the log counts in small steps instead, a little stricter and much smaller.',
    ],
    code: "slidingLog({ limit: 6, per: '5s' })",
    policies: slidingLog({ limit: LIMIT, per: PER }),
    windows: 'slides',
    good: 'limits that must hold exactly',
    beware: 'memory grows with the limit, and bursts come back as bursts',
    query: query('10/10s sliding-log'),
  },
  {
    ...common,
    id: 'leaky-bucket',
    title: 'A bucket that leaks',
    text: [
      'Each request is a cup poured into a bucket; the bucket loses a cup at every drip. What would spill over is denied.',
      'A full bucket admits one request per drip and no more. The drips fall in steps, counted from the request that found the bucket empty.',
    ],
    code: "leakyBucket({ size: 6, dripRate: '833ms' })",
    policies: leakyBucket({ size: LIMIT, dripRate: 833 }),
    good: 'a steady drain behind you, with some room for bursts',
    beware: 'after a pause the whole bucket passes at once',
    query: query('10/10s leaky-bucket'),
  },
  {
    ...common,
    id: 'gcra',
    title: 'Each request buys time',
    text: [
      'Forget buckets: say that a request costs 833 milliseconds, and that a key may be in debt for at most three of them. Time pays the debt off. That is the generic cell rate algorithm, and the same as a token bucket that fills evenly.',
      'There is no edge at which anything happens. Under pressure, requests pass one by one at the rate; the burst is a number of its own. This is what Sluice does unless told otherwise.',
    ],
    code: "gcra({ limit: 6, per: '5s', burst: 3 })",
    policies: gcra({ limit: LIMIT, per: PER, burst: 3 }),
    good: 'nearly everything',
    beware: 'in one window the burst comes on top of the rate',
    query: query('10/10s burst 3'),
  },
  {
    id: 'pacer',
    title: 'Waiting instead of denying',
    text: [
      'When you are the one who calls, a denial helps nobody: you want to go at the right pace. A pacer gives each caller a turn. The first passes at once, and its cost delays the next.',
      'Below the line requests ask, above it they pass; follow a line to see how long one waits. However unevenly they come, they leave evenly. Only those that would wait too long are sent away.',
    ],
    code: "pacer({ limit: 2, per: '1s' })",
    policies: pacer({ limit: 2, per: 1000 }),
    script: [
      ...Array.from({ length: 7 }, (_, i) => 1000 + i * 60),
      ...Array.from({ length: 3 }, (_, i) => 7000 + i * 60),
      8000,
      8100,
      ...Array.from({ length: 8 }, (_, i) => 13_000 + i * 90),
    ],
    round: ROUND,
    waits: true,
    good: 'crawlers, jobs, calls to somebody else’s API',
    beware: 'waiting callers need room and patience',
    query: query('2/s pacer', 'bursts', '&patience=5000'),
  },
];
