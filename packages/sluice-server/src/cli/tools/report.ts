/** Renders a replay as a self-contained HTML page without scripts or external resources. */
import type { Millis } from 'sluice';
import type { Seen } from '../../telemetry/metrics/space-saving.ts';
import type { TallyRow } from './tally.ts';

export interface Report {
  readonly policy: string;
  readonly source: string;
  readonly summary: string;
  readonly rows: readonly TallyRow[];
  /** Time covered by each row. */
  readonly step: Millis;
  readonly worst: readonly Seen[];
  readonly notes: readonly string[];
}

const WIDTH = 900;
const HEIGHT = 240;

export function showReport({ policy, source, summary, rows, step, worst, notes }: Report): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(policy)} on ${escaped(source)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
svg { width: 100%; height: auto }
svg.bar { width: 12rem; height: .8rem; vertical-align: middle }
.allowed { fill: #2a8a5f } .denied { fill: #d1495b } text { fill: currentColor; font-size: 12px }
td, th { padding: .15rem 1rem .15rem 0; text-align: left } td.n { text-align: right; font-variant-numeric: tabular-nums }
</style>
</head>
<body>
<h1>${escaped(policy)}</h1>
<p>${escaped(source)}: ${escaped(summary.trim())}</p>
${notes.map((note) => `<p>${escaped(note)}</p>`).join('\n')}
${chart(rows, step)}
<p><svg viewBox="0 0 12 12" style="width:.8em"><rect class="allowed" width="12" height="12"/></svg> allowed
<svg viewBox="0 0 12 12" style="width:.8em"><rect class="denied" width="12" height="12"/></svg> denied</p>
${worstTable(worst)}
</body>
</html>
`;
}

/** A bar chart with one bar per row, positioned by time. Denied requests are stacked on top of allowed ones. */
function chart(rows: readonly TallyRow[], step: Millis): string {
  const first = rows[0]?.start ?? 0;
  const last = (rows.at(-1)?.start ?? 0) + step;
  const most = rows.reduce((top, { allowed, denied }) => Math.max(top, allowed + denied), 1);
  const x = (time: Millis) => ((time - first) / (last - first)) * WIDTH;
  const width = Math.max(0.5, (step / (last - first)) * WIDTH * 0.9);
  const height = (count: number) => (count / most) * HEIGHT;
  const bar = (kind: string, start: Millis, from: number, count: number) =>
    count === 0
      ? ''
      : `<rect class="${kind}" x="${x(start).toFixed(1)}" y="${(HEIGHT - height(from + count)).toFixed(1)}" width="${width.toFixed(2)}" height="${height(count).toFixed(1)}"/>`;
  const bars = rows.map(({ start, allowed, denied }) => {
    const title = `<title>${timeOf(start)}: ${allowed} allowed, ${denied} denied</title>`;
    return `<g>${title}${bar('allowed', start, 0, allowed)}${bar('denied', start, allowed, denied)}</g>`;
  });
  return `<svg viewBox="0 -20 ${WIDTH} ${HEIGHT + 40}" role="img" aria-label="Requests over time">
<text x="0" y="-6">${grouped(most)} requests</text>
${bars.join('\n')}
<text x="0" y="${HEIGHT + 16}">${timeOf(first)}</text>
<text x="${WIDTH}" y="${HEIGHT + 16}" text-anchor="end">${timeOf(last)}</text>
</svg>`;
}

function worstTable(worst: readonly Seen[]): string {
  if (worst.length === 0) return '<p>No request was denied.</p>';
  const most = worst[0]?.count ?? 1;
  const rows = worst.map(({ name, count, error }) => {
    const about = error > 0 ? ` (up to ${grouped(error)} fewer)` : '';
    const bar = `<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none"><rect class="denied" width="${((count / most) * 100).toFixed(1)}" height="6"/></svg>`;
    return `<tr><td class="n">${grouped(count)}</td><td>${bar}</td><td><code>${escaped(name)}</code>${about}</td></tr>`;
  });
  return `<h2>Denied most often</h2>\n<table><tr><th>times</th><th></th><th>key</th></tr>\n${rows.join('\n')}\n</table>`;
}

function grouped(count: number): string {
  return count.toLocaleString('en');
}

function timeOf(time: Millis): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.toWellFormed().replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}
