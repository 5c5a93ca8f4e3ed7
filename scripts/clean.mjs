// @ts-check
// Removes build outputs. With `--stale`, removes only the outputs of deleted sources, which `tsc -b` keeps and `npm pack` would
// publish.

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const packages = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name));
const output = /(\.d\.ts|\.js)(\.map)?$/;

if (process.argv.includes('--stale')) {
  for (const folder of packages) {
    const dist = join(folder, 'dist');
    if (!existsSync(dist)) continue;
    for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
      // The playground page is built by Vite, not by tsc.
      if (!output.test(file) || /^(page|assets)\b/.test(file)) continue;
      if (!existsSync(join(folder, 'src', file.replace(output, '.ts')))) rmSync(join(dist, file));
    }
  }
} else {
  for (const folder of packages) rmSync(join(folder, 'dist'), { recursive: true, force: true });
  for (const name of ['.build', 'coverage']) rmSync(join(root, name), { recursive: true, force: true });
}
