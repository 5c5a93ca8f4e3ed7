/**
 * Requests whose connection closes early must free their places, over HTTP/1.1 with pipelining and over HTTP/2, with every Node
 * framework. The events that Node emits differ between versions, so all tests run on each supported version.
 */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, hasOtherNodes, nodeBinary, root } from 'sluice-test-support/packed.ts';
import { claims } from './connections/claims.ts';

/** The folder is inside the repository, so that the frameworks can be resolved. */
const folder = join(root, `.build/connections-${process.pid}`);
const file = join(folder, 'claims.mjs');
/** Where the other versions cannot be installed, only the version that runs the tests is checked. */
const BINARIES = hasOtherNodes
  ? ['20', '22', '24', '26'].map((major) => [`Node ${major}`, nodeBinary(major)])
  : [[`this Node, ${process.version}`, process.execPath]];

beforeAll(async () => {
  if (hasOtherNodes) engines('nodes');
  await build({
    entryPoints: [join(root, 'packages/sluice/test/middleware/connections/program.ts')],
    outfile: file,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
  });
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(BINARIES)('on %s', (_, binary = '') => {
  it('when connections close early, the middleware frees all places and settles each request exactly once', {
    timeout: 240_000,
  }, async () => {
    const { stdout } = await promisify(execFile)(binary, [file], {
      cwd: root,
      env: { ...process.env, NODE_OPTIONS: '' },
      timeout: 200_000,
      killSignal: 'SIGKILL',
    });
    const results = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; problem?: string });
    expect(results).toEqual(claims.map(({ name }) => ({ name })));
  });
});
