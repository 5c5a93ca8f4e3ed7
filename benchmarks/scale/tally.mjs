/** Records the hits that were allowed, and finds by how many units they exceed a bucket's bound in the worst window. */

/** Milliseconds of the machine's monotonic clock, which is the same in all processes. */
export function now() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

/**
 * Counts decisions. If `from` is given (the start of a phase whose limit can deny hits), also records when each allowed hit was
 * sent and answered, in whole milliseconds after `from`. The hit was decided between these two times.
 */
export function tally(from) {
  const spans = new Map();
  const counted = { decisions: 0, allowed: 0, cached: 0 };
  return {
    counted,
    add(decision, sent) {
      counted.decisions++;
      if (decision.source === 'deny-cache') counted.cached++;
      if (!decision.allowed) return;
      counted.allowed++;
      if (from === undefined) return;
      const heard = now();
      const span = `${Math.floor((sent ?? heard) - from)} ${Math.floor(heard - from)}`;
      spans.set(span, (spans.get(span) ?? 0) + 1);
    },
    /** [sent, answered, count] */
    spans: () => [...spans].map(([span, count]) => [...span.split(' ').map(Number), count]),
  };
}

/**
 * For the worst window w: the units that were sent and answered within w, minus the bound burst + rate · w (rate per
 * millisecond). Hits that may have been decided outside the window do not count, so every overrun found is real.
 */
export function overAdmitted(spans, burst, rate) {
  const length = Math.max(0, ...spans.map(([, heard]) => heard + 1));
  const bySent = Array.from({ length }, () => []);
  for (const [sent, ...rest] of spans) bySent[sent].push(rest);
  const answered = new Float64Array(length);
  let worst = 0;
  for (let first = length - 1; first >= 0; first--) {
    for (const [heard, count] of bySent[first]) answered[heard] += count;
    let passed = 0;
    for (let last = first; last < length; last++) {
      passed += answered[last];
      worst = Math.max(worst, passed - burst - rate * (last - first + 1));
    }
  }
  return Math.round(worst);
}
