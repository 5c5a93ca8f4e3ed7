// @ts-check
/**
 * Bar charts of the tables that the benchmarks write: `section | column | unit`. `column + column` puts bars beside each
 * other; a fourth part is what the names of the rows begin with.
 */

import { textOf } from './pages.mjs';

const WIDTH = 720;
const NAMES = 250;
const ROW = 22;
/** @type {Record<string, number>} */
const UNITS = { k: 1e3, M: 1e6 };

/** @typedef {{ name: string, series: string, value: number, text: string }} Bar */

/** @param {string} marker */
export function chartOf(marker) {
  const [section = '', columns = '', unit = '', rows = ''] = marker.split('|').map((part) => part.trim());
  const all = barsOf(textOf('benchmarks/RESULTS.md'), section, columns.split(' + '));
  const bars = all.filter(({ name }) => name.startsWith(rows));
  if (bars.length === 0) throw new Error(`benchmarks/RESULTS.md has no row ${rows} in section ${section}`);
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
        const [, digits, unit = ''] = /^([\d.]+)([kM]?)/.exec(text.replaceAll(',', '')) ?? [];
        const value = Number(digits) * (UNITS[unit] ?? 1);
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
  const sorted = bars.map(({ value }) => value).sort((a, b) => a - b);
  const middle = sorted[sorted.length >> 1] ?? 0;
  // One that is far out would make all others alike: it is cut, and its label says so.
  const full = sorted.findLast((value) => value <= middle * 8) ?? middle;
  const room = WIDTH - NAMES - 140;
  const lines = bars.map(({ name, series, value, text }, i) => {
    const cut = value > full;
    const y = i * ROW;
    const length = (Math.min(value, full) / full) * room;
    const kind = /sluice|leased/i.test(series || name)
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
