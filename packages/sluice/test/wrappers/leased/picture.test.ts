import { readFileSync, statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { type Measured, measureSchemes } from './schemes.ts';

// The type checker must not follow this path: the script is JavaScript and belongs to another project.
const script = pathToFileURL(resolve(import.meta.dirname, '../../../../../site/pictures/leases.mjs')).href;
const drawing = import(/* @vite-ignore */ script) as Promise<{
  readonly FILE: string;
  readonly render: (rows: readonly Measured[]) => string;
}>;

test('docs/leases.svg matches the simulation and is smaller than 15 kB', async () => {
  const { FILE, render } = await drawing;
  const rows = await measureSchemes();
  expect(render(rows) === readFileSync(FILE, 'utf8'), 'node site/pictures/leases.mjs').toBe(true);
  expect(statSync(FILE).size).toBeLessThan(15_000);
  for (const { scheme, over, callsPerDecision } of rows) {
    if (scheme !== 'synced') expect(over).toBe(0);
    if (scheme === 'leased') expect(callsPerDecision).toBeLessThan(0.02);
  }
}, 60_000);
