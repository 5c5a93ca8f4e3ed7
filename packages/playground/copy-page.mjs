// @ts-check
// Copies the built page to packages/sluice-server/dist/page. The server serves it from there, and npm includes it in the package.

import { cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const target = fileURLToPath(new URL('../sluice-server/dist/page', import.meta.url));
rmSync(target, { recursive: true, force: true });
cpSync(fileURLToPath(new URL('dist', import.meta.url)), target, { recursive: true });
