/** Tests what newcomers see first in the README of the repository and in the README of the package. Needs the build. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installSluice } from 'sluice-test-support/packed.ts';
import { blocksOf, promised } from 'sluice-test-support/docs/blocks.ts';
import { reading } from 'sluice-test-support/docs/reading.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-install-'));
beforeAll(() => installSluice(folder), 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  ['README.md', reading('README.md')('sh', 'npm install')],
  ['packages/sluice/README.md', reading('packages/sluice/README.md')('sh', 'npm install')],
])('%s', (page, command) => {
  test('says how to install the package, and its first example runs', () => {
    expect(command).toBe('npm install sluice');
    const [first] = blocksOf(page).filter(({ language }) => language === 'ts');
    writeFileSync(join(folder, 'first.mjs'), first?.code ?? 'throw');
    const printed = execFileSync(process.execPath, ['first.mjs'], { cwd: folder, encoding: 'utf8' });
    expect(printed).toBe(promised(first?.code ?? '').join('\n'));
  });
});

test.each([
  ['docs/migrate/README.md', reading('docs/migrate/README.md')('sh', 'npm install')],
  ['packages/compat/README.md', reading('packages/compat/README.md')('sh', 'npm install')],
])('%s names the packages to install for a drop-in', (_, command) => {
  expect(command).toBe('npm install sluice sluice-compat');
});
