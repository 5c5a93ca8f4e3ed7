// @ts-check
/**
 * Draws bar charts from the tables that the benchmarks write. A marker is `section | column | unit`. `column + column` draws
 * both columns side by side. A column whose cells are `before → after` also gets two bars per row. An optional fourth part selects
 * the rows whose names begin with that text.
 */

import { textOf } from './pages.mjs';

/** @type {Record<string, number>} */
const UNITS = { k: 1e3, M: 1e6 };

/**
 * Matches rows and columns that measure Sluice. They are named after Sluice, or after a way in which several machines share a
 * limit.
 */
const OWN = /sluice|leased|synced|denyCache|direct/i;

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
      places.flatMap((place, i) =>
        barsIn(row[0] ?? '', row[place] ?? '', columns.length > 1 ? (columns[i] ?? '') : ''),
      ),
    );
  }
  throw new Error(`benchmarks/RESULTS.md has no column ${columns.join(', ')} in section ${section}`);
}

/** Both bars of `before → after`, or no bar if one of the two was not measured. @param {string} name @param {string} cell @param {string} series @returns {Bar[]} */
function barsIn(name, cell, series) {
  const [before = '', after] = cell.split(' → ');
  const parts =
    after === undefined
      ? [{ series, text: cell }]
      : [
          { series: 'before', text: before },
          { series: 'after', text: after },
        ];
  const bars = parts.map((part) => ({ name, ...part, value: numberIn(part.text) }));
  return bars.every(({ value }) => Number.isFinite(value)) ? bars : [];
}

/** @param {string} text */
function numberIn(text) {
  const [, digits, unit = ''] = /^([\d.]+)([kM]?)/.exec(text.replaceAll(',', '')) ?? [];
  return Number(digits) * (UNITS[unit] ?? 1);
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
  // An outlier would make all other bars look alike, so it is cut and its label says so.
  const full = sorted.findLast((value) => value <= middle * 8) ?? middle;
  const isOneRow = bars.every(({ name }) => name === bars[0]?.name);
  const kinds = bars.map(kindOf);
  // If no bar names Sluice, the chart does not compare libraries, and all of its bars are ours.
  const isAlone = !kinds.includes('own');
  const lines = bars.map(({ name, series, value, text }, i) => {
    const label = isOneRow ? series || name : bars[i - 1]?.name === name ? '' : name;
    // The figure in brackets is shown only if the caption explains it.
    const figure = /in brackets/.test(unit) ? text : text.replace(/ \(.*$/, '');
    const shown = `${figure}${value > full ? ' … cut' : ''}`;
    const part = (Math.min(value, full) / full).toFixed(4);
    return [
      `<span class="name">${escaped(label)}</span>`,
      `<span class="measure"><span class="bar ${isAlone ? 'own' : kinds[i]}" style="--part: ${part}"></span>`,
      `<span class="figure">${escaped(shown)}</span></span>`,
    ].join('');
  });
  return `<figure class="chart"><div class="bars" role="img" aria-label="${escaped(title)}">${lines.join('')}</div><figcaption>${escaped(unit)}</figcaption></figure>\n`;
}

/** Whether a bar is ours, another library's, or a baseline without a limiter. @param {Bar} bar */
function kindOf({ name, series }) {
  if (series === 'after' || OWN.test(series === 'before' ? '' : `${name} ${series}`)) return 'own';
  return /^(a bare|nothing but|PING|redis-server INCR)/.test(name) ? 'bare' : 'peer';
}

/** @param {string} text */
const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll('{', '&#123;');
