// @ts-check
/** Bar charts of the tables that the benchmarks write. `section | column | unit`, or `section | column + column | unit`. */

import { textOf } from './pages.mjs';

const WIDTH = 720;
const NAMES = 250;
const ROW = 22;

/** @typedef {{ name: string, series: string, value: number, text: string }} Bar */

/** @param {string} marker */
export function chartOf(marker) {
  const [section = '', columns = '', unit = ''] = marker.split('|').map((part) => part.trim());
  const bars = barsOf(textOf('benchmarks/RESULTS.md'), section, columns.split(' + '));
  return draw(bars, `${columns}: ${unit}`, unit);
}

/** @param {string} results @param {string} section @param {readonly string[]} columns @returns {Bar[]} */
export function barsOf(results, section, columns) {
  const text = results.split(`<!-- ${section}:start -->`)[1]?.split(`<!-- ${section}:end -->`)[0];
  for (const table of text?.match(/(^\|.*\|\n)+/gm) ?? []) {
    const [head = [], , ...rows] = table.trim().split('\n').map(cellsOf);
    const places = columns.map((column) => head.indexOf(column));
    if (places.includes(-1)) continue;
    return rows.flatMap((row) =>
      places.flatMap((place, i) => {
        const text = row[place] ?? '';
        const found = /^([\d.]+)(k?)/.exec(text.replaceAll(',', ''));
        const value = Number(found?.[1]) * (found?.[2] === 'k' ? 1000 : 1);
        return Number.isFinite(value)
          ? [{ name: row[0] ?? '', series: columns.length > 1 ? (columns[i] ?? '') : '', value, text }]
          : [];
      }),
    );
  }
  throw new Error(`benchmarks/RESULTS.md has no column ${columns.join(', ')} in section ${section}`);
}

/** @param {string} line */
const cellsOf = (line) =>
  line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());

/** @param {readonly Bar[]} bars @param {string} title @param {string} unit */
function draw(bars, title, unit) {
  const longest = Math.max(...bars.map(({ value }) => value));
  const middle = bars.map(({ value }) => value).sort((a, b) => a - b)[bars.length >> 1] ?? longest;
  // One that is far out would make all others alike: it is cut, and its label says so.
  const full = Math.min(longest, middle * 4);
  const room = WIDTH - NAMES - 140;
  const lines = bars.map(({ name, series, value, text }, i) => {
    const cut = value > full;
    const y = i * ROW;
    const length = (Math.min(value, full) / full) * room;
    const kind = /sluice/i.test(series || name)
      ? 'own'
      : /^(a bare|nothing but|PING)/.test(name)
        ? 'bare'
        : 'peer';
    const label = series === '' || bars[i - 1]?.name !== name ? name : '';
    const shown = `${text.replace(/ \((?![\d.]+×).*$/, '')}${cut ? ' … cut' : ''}`;
    return [
      `<text x="${NAMES - 8}" y="${y + 15}" text-anchor="end">${escaped(label)}</text>`,
      `<rect class="${kind}" x="${NAMES}" y="${y + 4}" width="${length.toFixed(1)}" height="${ROW - 8}" rx="2"/>`,
      `<text class="figure" x="${(NAMES + length + 6).toFixed(1)}" y="${y + 15}">${escaped(shown)}</text>`,
    ].join('');
  });
  const height = bars.length * ROW + 4;
  return `<figure class="chart"><svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">${lines.join('')}</svg><figcaption>${escaped(unit)}</figcaption></figure>\n`;
}

/** @param {string} text */
const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll('{', '&#123;');
