// @ts-check
// Puts the built page where the server serves it from, and where npm packs it: packages/sluice-server/dist/page.

import { cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = join(dirname(fileURLToPath(import.meta.url)), '../packages');
const page = join(packages, 'sluice-server/dist/page');
rmSync(page, { recursive: true, force: true });
cpSync(join(packages, 'playground/dist'), page, { recursive: true });
