/** Provides the packages as npm would publish them, and tools that are installed only for the tests of these packages. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));

function npm(cwd: string, ...args: readonly string[]): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' });
}

export type Packed = 'sluice' | 'sluice-compat' | 'sluice-server';

/** The folder of a published package. */
export function folderOf(name: Packed): string {
  return join(root, 'packages', name === 'sluice-compat' ? 'compat' : name);
}

/** Packs the tarball that npm would publish, from the current build. */
export function pack(name: Packed, folder: string): string {
  if (!existsSync(join(folderOf(name), 'dist')))
    throw new Error('The package is not built. Run: npm run build');
  npm(root, 'pack', '--ignore-scripts', '--workspace', name, '--pack-destination', folder);
  const tarball = readdirSync(folder).find((file) => new RegExp(`^${name}-\\d.*\\.tgz$`).test(file));
  return join(folder, tarball ?? '');
}

/** Installs the library and the drop-ins offline, which fails if they need any other package. */
export function installSluice(folder: string): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const tarballs = [pack('sluice', folder), pack('sluice-compat', folder)];
  npm(folder, 'install', '--offline', '--ignore-scripts', '--no-audit', ...tarballs);
}

/** Unpacks a package into node_modules, without its dependencies. */
export function unpack(name: Packed, folder: string): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', pack(name, folder), '--strip-components=1', '-C', target]);
}

/** Links a package from the node_modules of the repository or of `from`, in place of what `npm install` would fetch. */
export function link(name: string, folder: string, from: string = root): void {
  const target = join(folder, 'node_modules', name);
  mkdirSync(dirname(target), { recursive: true });
  symlinkSync(join(from, 'node_modules', name), target, 'junction');
}

/**
 * Whether other versions of Node can be installed. npm has a package with Node's binaries for each platform;
 * runtimes/engines/nodes lists only those for this platform.
 */
export const hasOtherNodes: boolean = process.platform === 'linux' && process.arch === 'x64';

/** Path of a Node binary that `engines('nodes')` has installed. */
export function nodeBinary(major: string): string {
  return join(root, `runtimes/engines/nodes/node_modules/node${major}/bin/node`);
}

/**
 * Installs the locked dependencies of runtimes/engines/<name>, unless they are installed already. Returns the path of their
 * node_modules.
 */
export function engines(
  name: 'nodes' | 'typescripts' | 'jests' | 'package-managers' | 'older-frameworks',
): string {
  const folder = join(root, 'runtimes/engines', name);
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const mark = join(folder, 'node_modules/.sluice-installed');
  const isInstalled = (): boolean => existsSync(mark) && readFileSync(mark, 'utf8') === lock;
  if (!isInstalled())
    alone(`installing-${name}`, () => {
      if (isInstalled()) return;
      npm(folder, 'ci', '--ignore-scripts');
      writeFileSync(mark, lock);
    });
  return join(folder, 'node_modules');
}

/** Runs `work` under a lock between processes. The lock file holds the process id, so that a crash does not block the next run. */
function alone(name: string, work: () => void): void {
  const file = join(root, '.build', name);
  mkdirSync(dirname(file), { recursive: true });
  for (;;)
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      break;
    } catch {
      if (!isRunning(Number(readIfExists(file)))) rmSync(file, { force: true });
      // Blocks this thread for 100 ms, because `engines` is synchronous.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    }
  try {
    work();
  } finally {
    rmSync(file, { force: true });
  }
}

function readIfExists(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return String(process.pid);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
