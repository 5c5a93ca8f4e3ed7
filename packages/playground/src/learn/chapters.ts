/** One chapter per algorithm. Its picture runs the limit that the chapter's line of code creates. */
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
  /** The state of the playground to which the chapter links. */
  readonly query: string;
}

const LIMIT = 6;
const PER: Millis = 5000;

/** A burst across the window boundary at 5 s, a pause, then two requests per second. */
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
      'Divide time into windows of five seconds and count the requests in each. When a window is full, further requests are denied. When the next window starts, the count starts again at zero.',
      'This takes two numbers per key and is easy to understand. But look at a boundary: six requests at the end of one window and six at the start of the next are twelve in two seconds, although each window is within its limit.',
    ],
    code: "fixedWindow({ limit: 6, per: '5s' })",
    policies: fixedWindow({ limit: LIMIT, per: PER }),
    windows: 'edges',
    good: 'quotas that users can count themselves, such as 5000 per day or 100 per month',
    beware: 'twice the limit can pass around a window boundary',
    query: query('10/10s fixed-window'),
  },
  {
    ...common,
    id: 'sliding-window',
    title: 'A window that slides',
    text: [
      'Keep the count of the previous window as well, and let it fade. After two fifths of the new window, three fifths of the old count still apply. The sum estimates the requests in a window that always ends now.',
      'This stops the burst across the boundary, at the price of one more number per key. It assumes that the old requests were evenly distributed; if they were not, it denies slightly too many or too few requests.',
    ],
    code: "slidingWindow({ limit: 6, per: '5s' })",
    policies: slidingWindow({ limit: LIMIT, per: PER }),
    windows: 'slides',
    good: 'fair limits for many keys with little memory',
    beware: 'the count is an estimate',
    query: query('10/10s sliding-window'),
  },
  {
    ...common,
    id: 'sliding-log',
    title: 'A log of every request',
    text: [
      'Record the time of each admitted request, and count those of the last five seconds. Nothing is estimated. No window of that length, wherever it starts, ever contains more requests than the limit.',
      'Each unit is available again exactly five seconds after it was taken. The price is an entry per recorded request. With the option resolution, the log counts requests in short intervals instead, which is slightly stricter and needs much less memory.',
    ],
    code: "slidingLog({ limit: 6, per: '5s' })",
    policies: slidingLog({ limit: LIMIT, per: PER }),
    windows: 'slides',
    good: 'limits that must hold exactly',
    beware: 'memory grows with the limit, and a burst can repeat one window later',
    query: query('10/10s sliding-log'),
  },
  {
    ...common,
    id: 'leaky-bucket',
    title: 'A bucket that leaks',
    text: [
      'Each request pours a cup into a bucket, and the bucket loses a cup with every drip. A request that would make the bucket overflow is denied.',
      'A full bucket admits one request per drip. The drips fall at regular intervals, counted from the request that found the bucket empty.',
    ],
    code: "leakyBucket({ size: 6, dripRate: '833ms' })",
    policies: leakyBucket({ size: LIMIT, dripRate: 833 }),
    good: 'protecting a service that works at a steady rate, with some room for bursts',
    beware: 'after a pause, a whole bucket of requests can pass at the same time',
    query: query('10/10s leaky-bucket'),
  },
  {
    ...common,
    id: 'gcra',
    title: 'Each request buys time',
    text: [
      'This algorithm needs no bucket. Each request costs 833 milliseconds, and a key may be in debt for at most three requests. Passing time pays the debt off. This is the generic cell rate algorithm (GCRA). It is equivalent to a token bucket that refills continuously.',
      'There is no boundary at which anything changes. Under load, requests pass one by one at the given rate, and the burst is configured separately. This is the default algorithm of Sluice.',
    ],
    code: "gcra({ limit: 6, per: '5s', burst: 3 })",
    policies: gcra({ limit: LIMIT, per: PER, burst: 3 }),
    good: 'almost everything',
    beware: 'within one window, a whole burst can pass in addition to the rate',
    query: query('10/10s burst 3'),
  },
  {
    id: 'pacer',
    title: 'Waiting instead of denying',
    text: [
      'If your own program makes the calls, a denial does not help. Instead, the program should send requests at the right pace. A pacer gives each request a turn. The first one passes immediately, and its cost delays the next.',
      'Requests arrive below the axis and pass above it, and the length of a slanted line shows how long a request waits. However unevenly requests arrive, they pass evenly. Only those that would wait too long are denied.',
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
    good: 'crawlers, background jobs, calls to other APIs',
    beware: 'waiting requests take memory and time',
    query: query('2/s pacer', 'bursts', '&patience=5000'),
  },
];
