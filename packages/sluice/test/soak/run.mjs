// @ts-check
// `npm run soak`: mixed load under injected faults for ten minutes, or as long as `--for 30s` says. `--seed 7` repeats a run.
// docs/contributing/tests.md says what it checks.

import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..');
const { values } = parseArgs({
  options: {
    for: { type: 'string', default: '10m' },
    seed: { type: 'string', default: String(Date.now() % 1e6) },
  },
});

const { status } = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    'packages/sluice/test/soak/',
    '--project=soak',
    '--disableConsoleIntercept=true',
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SLUICE_SOAK_FOR: values.for, SLUICE_SOAK_SEED: values.seed },
  },
);
process.exitCode = status ?? 1;
