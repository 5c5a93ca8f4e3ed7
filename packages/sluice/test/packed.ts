/** The packages as strangers get them, and what is installed only for the tests that try them out. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

function npm(cwd: string, ...args: readonly string[]): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' });
}

/** The tarball that npm would publish, from the build that is there. */
function pack(name: string, folder: string): string {
  if (!existsSync(join(root, 'packages', name, 'dist/index.js'))) throw new Error('first: npm run build');
  npm(root, 'pack', '--ignore-scripts', '--workspace', name, '--pack-destination', folder);
  const tarball = readdirSync(folder).find((file) => new RegExp(`^${name}-\\d.*\\.tgz$`).test(file));
  return join(folder, tarball ?? '');
}

/** Offline, so that it fails if the library needs anything else. */
export function installSluice(folder: string): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  npm(folder, 'install', '--offline', '--ignore-scripts', '--no-audit', pack('sluice', folder));
}

/** Into node_modules, without what it depends on. */
export function unpack(name: 'sluice' | 'sluice-server', folder: string): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', pack(name, folder), '--strip-components=1', '-C', target]);
}

/** What `npm install` would fetch, from the repository's own node_modules instead. */
export function link(name: string, folder: string): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(join(root, 'node_modules', name), target, 'junction');
}

/** The node_modules of runtimes/engines/<name>, installed if they are missing or not as locked. */
export function engines(name: 'nodes' | 'typescripts'): string {
  const folder = join(root, 'runtimes/engines', name);
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const mark = join(folder, 'node_modules/.sluice-installed');
  if (!existsSync(mark) || readFileSync(mark, 'utf8') !== lock) {
    npm(folder, 'ci', '--ignore-scripts');
    writeFileSync(mark, lock);
  }
  return join(folder, 'node_modules');
}
