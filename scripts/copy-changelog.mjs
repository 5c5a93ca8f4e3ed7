// @ts-check
// A package has the changelog while it is packed: npm packs no file from outside its folder. `--undo` takes it away again.
// The folder is the one that npm runs it in.

import { copyFileSync, rmSync } from 'node:fs';

if (process.argv.includes('--undo')) rmSync('CHANGELOG.md', { force: true });
else copyFileSync(new URL('../CHANGELOG.md', import.meta.url), 'CHANGELOG.md');
