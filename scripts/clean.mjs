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
    for (const built of ['dist', 'cjs'].map((name) => join(folder, name)).filter(existsSync))
      for (const file of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
        // The playground page is built by Vite, not by tsc.
        if (!output.test(file) || /^(page|assets)\b/.test(file)) continue;
        if (!existsSync(join(folder, 'src', file.replace(output, '.ts')))) rmSync(join(built, file));
      }
  }
} else {
  for (const folder of packages) {
    rmSync(join(folder, 'dist'), { recursive: true, force: true });
    // Remove all outputs except package.json, which is not generated and says that the other files are CommonJS.
    const cjs = join(folder, 'cjs');
    for (const name of existsSync(cjs) ? readdirSync(cjs) : [])
      if (name !== 'package.json') rmSync(join(cjs, name), { recursive: true });
  }
  for (const name of ['.build', 'coverage']) rmSync(join(root, name), { recursive: true, force: true });
}
