/** Builds the site into a temporary folder, once per test file, and serves it locally. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** The site is built for a sub-path, so that a link that works only at the root of a host is found. */
const BASE = '/sluice/';

export interface BuiltSite {
  readonly url: string;
  /** The path of the site on its host. */
  readonly base: string;
  /** Paths of the built files, with forward slashes, relative to the site's root. */
  readonly files: readonly string[];
  /** Duration of the build, in milliseconds. */
  readonly took: number;
  read(file: string): string;
  close(): void;
}

export async function builtSite(): Promise<BuiltSite> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-site-'));
  const start = performance.now();
  const options = ['--base', BASE, '--outDir', folder];
  await run(['node_modules/vitepress/bin/vitepress.js', 'build', 'site', ...options]);
  const took = performance.now() - start;
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://site').pathname);
    const file = path.endsWith('/') ? `${path}index.html` : path;
    try {
      if (!file.startsWith(BASE)) throw new Error('not a path of the site');
      const body = readFileSync(join(folder, file.slice(BASE.length)));
      response
        .writeHead(200, { 'Content-Type': TYPES[extname(file)] ?? 'application/octet-stream' })
        .end(body);
    } catch {
      response.writeHead(404).end('not found');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`,
    base: BASE,
    files: readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) =>
      file.replaceAll('\\', '/'),
    ),
    took,
    read,
    close() {
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Builds in a separate process, as `npm run docs` does, so that the test runner's module loader has no influence. */
function run(args: readonly string[]): Promise<void> {
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, VITEST: ___, NODE_ENV: ____, ...env } = process.env;
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += String(chunk)));
  child.stderr.on('data', (chunk) => (printed += String(chunk)));
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(printed))));
  });
}
