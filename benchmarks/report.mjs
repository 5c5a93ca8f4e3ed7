/** Helpers for all suites: tables, the description of the machine, and the sections of RESULTS.md. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';

const RESULTS = new URL('RESULTS.md', import.meta.url);
const TITLE =
  '# Benchmark results\n\nWritten by `npm run bench`; do not edit. Compare ratios, because absolute figures depend on the machine.\n';

/** Describes the machine. Includes its load, because a busy machine can explain odd figures. */
export function machine(command) {
  const cpus = os.cpus();
  const memory = `${Math.round(os.totalmem() / 2 ** 30)} GB`;
  const load = os.loadavg()[0].toFixed(1);
  return [
    `${cpus[0]?.model.trim()}, ${cpus.length} cores, ${memory}, ${os.type()} ${os.release()}`,
    `node ${process.versions.node} (V8 ${process.versions.v8})`,
    new Date().toISOString().slice(0, 16).replace('T', ' '),
    `load ${load} at the start`,
    `\`${command}\``,
  ].join(' · ');
}

/**
 * Formats a Markdown table with padded columns, so that it is also readable in a terminal. The first column is left-aligned, and
 * the others are right-aligned.
 */
export function table(head, rows) {
  const cells = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column].length)));
  const line = (row) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => '-'.repeat(width + 1) + (i === 0 ? '-' : ':')).join('|')}|`;
  return [line(cells[0]), rule, ...cells.slice(1).map(line)].join('\n');
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Replaces the section of this suite and leaves the other sections unchanged. */
export function writeSection(suite, text) {
  if (!existsSync(RESULTS)) writeFileSync(RESULTS, TITLE);
  writeBetween(RESULTS, suite, `## ${suite}\n\n${text.trim()}`);
}

/** Replaces the text between the markers of this name, or appends it with new markers. */
export function writeBetween(file, name, text) {
  const [start, end] = [`<!-- ${name}:start -->\n`, `<!-- ${name}:end -->\n`];
  const before = readFileSync(file, 'utf8');
  const section = `${start}${text}\n${end}`;
  const [from, to] = [before.indexOf(start), before.indexOf(end)];
  const after =
    from < 0 ? `${before}\n${section}` : before.slice(0, from) + section + before.slice(to + end.length);
  writeFileSync(file, after);
}
