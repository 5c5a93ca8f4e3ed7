/**
 * Runs runtimes/jest with Jest 29 and 30 on the packed packages. Jest has its own module loader, which reads the condition `require`
 * and cannot load ES modules without flags.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { engines, folderOf, link, type Packed, root, unpack } from 'sluice-test-support/packed.ts';

const PACKAGES = ['sluice', 'sluice-compat'] as const;
const project = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-jests-')));

/** The names of the values that each entry exports. */
function entriesOf(name: Packed): Record<string, readonly string[]> {
  const listed = JSON.parse(readFileSync(join(folderOf(name), 'exports.json'), 'utf8')) as Record<
    string,
    { readonly values: readonly string[] }
  >;
  return Object.fromEntries(
    Object.entries(listed).map(([entry, { values }]) => [entry.replace('.', name), values.toSorted()]),
  );
}
const ENTRIES = { ...entriesOf('sluice'), ...entriesOf('sluice-compat') };

beforeAll(() => {
  const jests = engines('jests');
  for (const name of PACKAGES) unpack(name, project);
  // NestJS 11 is the newest version that Jest can load without flags, because NestJS 12 consists of ES modules.
  for (const name of ['common', 'core', 'platform-express', 'websockets'])
    link(`@nestjs/${name}`, project, join(root, 'runtimes/nest-11'));
  for (const name of ['reflect-metadata', 'rxjs', '@types/node', 'undici-types']) link(name, project);
  cpSync(join(root, 'runtimes/jest'), project, { recursive: true });
  const files = {
    'package.json': {},
    'entries.json': ENTRIES,
    'tsconfig.json': {
      compilerOptions: {
        target: 'es2022',
        module: 'commonjs',
        strict: true,
        experimentalDecorators: true,
        emitDecoratorMetadata: true,
        esModuleInterop: true,
        skipLibCheck: true,
        types: ['node'],
      },
    },
    'jest.config.json': {
      testEnvironment: 'node',
      transform: { '\\.ts$': join(jests, 'ts-jest') },
      cacheDirectory: join(project, 'cache'),
    },
  };
  for (const [file, content] of Object.entries(files))
    writeFileSync(join(project, file), JSON.stringify(content));
}, 300_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

it.each(['29', '30'])(
  'Jest %s runs the tests of a CommonJS project and of a TypeScript project',
  async (version) => {
    const jest = join(root, `runtimes/engines/jests/node_modules/jest${version}/bin/jest.js`);
    const args = [jest, '--runInBand', '--json', '--outputFile=report.json'];
    const env = { ...process.env, NODE_OPTIONS: '' };
    const output = await promisify(execFile)(process.execPath, args, { cwd: project, env }).then(
      () => '',
      (error: { stderr: string }) => error.stderr,
    );
    expect(output).toBe('');
    const report = JSON.parse(readFileSync(join(project, 'report.json'), 'utf8')) as {
      numPassedTests: number;
    };
    expect(report.numPassedTests).toBe(Object.keys(ENTRIES).length + 3);
    rmSync(join(project, 'report.json'));
  },
  120_000,
);
