// @ts-check
// Draws how the cost of leases and of eventual sync depends on the number of nodes. The numbers come from the simulation that the
// tests use. The picture is docs/leases.svg.
// `node site/pictures/leases.mjs` writes the file; `--check` compares it.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** @typedef {{ scheme: 'direct' | 'leased' | 'synced', nodes: number, over: number, callsPerDecision: number }} Measured */

const WIDTH = 720;
const HEIGHT = 250;
const TOP = 52;
const FLOOR = 190;
const SCHEMES = /** @type {const} */ (['direct', 'leased', 'synced']);

const STYLE = `
text{font:11px system-ui,sans-serif;fill:#57606a}
.label{font:12px system-ui,sans-serif;fill:#24292f}
.grid{stroke:#8c959f;stroke-opacity:.45;stroke-dasharray:2 3}
.base{stroke:#8c959f}
path{fill:none;stroke-width:2}
.direct{stroke:#8250df}.leased{stroke:#1a7f37}.synced{stroke:#bf8700}
circle{stroke-width:2;fill:#fff}
@media(prefers-color-scheme:dark){
text{fill:#9198a1}
.label{fill:#e6edf3}
circle{fill:#0d1117}
.direct{stroke:#ab7df8}.leased{stroke:#3fb950}.synced{stroke:#d29922}
}
`;

/** @param {number} value */
const round = (value) => Number(value.toFixed(1));

/**
 * @param {readonly Measured[]} rows
 * @param {string} title
 * @param {number} left
 * @param {(row: Measured) => number} height from 0 to 1
 * @param {readonly [at: number, text: string][]} ticks
 */
function panel(rows, title, left, height, ticks) {
  const nodes = [...new Set(rows.map((row) => row.nodes))];
  const right = left + 260;
  /** @param {number} count */
  const x = (count) => round(left + 20 + (nodes.indexOf(count) * 220) / (nodes.length - 1));
  /** @param {number} at */
  const y = (at) => round(FLOOR - at * (FLOOR - TOP));
  return [
    `<text class="label" x="${left}" y="${TOP - 14}">${title}</text>`,
    ...ticks.map(
      ([at, text]) =>
        `<path class="${at === 0 ? 'base' : 'grid'}" d="M${left} ${y(at)}H${right}"/><text x="${left - 5}" y="${y(at) + 4}" text-anchor="end">${text}</text>`,
    ),
    ...nodes.map((count) => `<text x="${x(count)}" y="${FLOOR + 16}" text-anchor="middle">${count}</text>`),
    ...SCHEMES.flatMap((scheme, i) => {
      const points = rows.filter((row) => row.scheme === scheme).map((row) => [x(row.nodes), y(height(row))]);
      // Dashes keep overlapping lines visible.
      const dash = ['', ' stroke-dasharray="8 4"', ' stroke-dasharray="3 3"'][i];
      return [
        `<path class="${scheme}"${dash} d="M${points.map((point) => point.join(' ')).join('L')}"/>`,
        ...points.map(([cx, cy]) => `<circle class="${scheme}" cx="${cx}" cy="${cy}" r="${4 - i}"/>`),
      ];
    }),
  ].join('\n');
}

/** @param {readonly Measured[]} rows */
export function render(rows) {
  const most = Math.max(...rows.map((row) => row.over));
  const top = Math.ceil(most / 1000) * 1000;
  /** Maps 0.0001 to 0 and 1 to 1 on a logarithmic scale. @param {number} calls */
  const power = (calls) => Math.max(0, 1 + Math.log10(Math.min(1, calls)) / 4);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
    '<title>Direct checks, leased and synced, by the number of nodes</title>',
    `<style>${STYLE}</style>`,
    '<text x="60" y="18">burst of 10,000, 1,000 units per second; 8,000 checks per second in total; synced every 100 ms; simulated</text>',
    panel(rows, 'units above the limit', 60, (row) => row.over / top, [
      [0, '0'],
      [0.5, (top / 2).toLocaleString('en')],
      [1, top.toLocaleString('en')],
    ]),
    panel(rows, 'store calls per decision', 430, (row) => power(row.callsPerDecision), [
      [0, '0.0001'],
      [0.25, '0.001'],
      [0.5, '0.01'],
      [0.75, '0.1'],
      [1, '1'],
    ]),
    ...SCHEMES.map(
      (scheme, i) =>
        `<path class="${scheme}" d="M${60 + i * 90} ${HEIGHT - 20}h18"/><text x="${84 + i * 90}" y="${HEIGHT - 16}">${scheme}</text>`,
    ),
    `<text x="690" y="${HEIGHT - 16}" text-anchor="end">number of nodes</text>`,
    '</svg>\n',
  ].join('\n');
}

export const FILE = join(dirname(fileURLToPath(import.meta.url)), '../../docs/leases.svg');

/** The simulation is TypeScript, which Node 20 cannot run, so Vite loads it. */
async function measure() {
  const { createViteServer } = await import('vitest/node');
  const root = join(dirname(FILE), '..');
  const server = await createViteServer({
    root,
    configFile: false,
    server: { middlewareMode: true },
    logLevel: 'error',
  });
  try {
    const { measureSchemes } = await server.ssrLoadModule('/packages/sluice/test/wrappers/leased/schemes.ts');
    return /** @type {Measured[]} */ (await measureSchemes());
  } finally {
    await server.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const picture = render(await measure());
  if (!process.argv.includes('--check')) {
    writeFileSync(FILE, picture);
    console.log('leases: wrote docs/leases.svg');
  } else if (!existsSync(FILE) || readFileSync(FILE, 'utf8') !== picture) {
    console.error(
      'docs/leases.svg is not up to date\nIf the change is intended, run: node site/pictures/leases.mjs',
    );
    process.exitCode = 1;
  } else console.log('docs/leases.svg is up to date');
}
