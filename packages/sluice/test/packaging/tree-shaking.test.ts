/** Tests that a bundle that imports one name from 'sluice' contains only the code that this name needs. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { root } from 'sluice-test-support/packed.ts';

const src = join(root, 'packages/sluice/src');
const folders = readdirSync(join(src, 'algorithms'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

/** Returns the algorithms whose code is in the bundle. */
async function algorithmsWith(name: string): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents: `import { ${name} } from './index.ts'; console.log(${name});`, resolveDir: src },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    absWorkingDir: src,
  });
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const kept = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
  return folders.filter((folder) => kept.some((file) => file.startsWith(`algorithms/${folder}/`)));
}

/** Some algorithms are built on others: a token bucket on gcra or a leaky bucket, concurrency on a sliding log. */
const NEEDS: Record<string, readonly string[]> = {
  concurrency: ['sliding-log'],
  'token-bucket': ['gcra', 'leaky-bucket'],
};

const camel = (folder: string) => folder.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

describe('importing one name', () => {
  it.each(folders)('bundles no other algorithm: %s', async (folder) => {
    expect((await algorithmsWith(camel(folder))).toSorted()).toEqual(
      [folder, ...(NEEDS[folder] ?? [])].toSorted(),
    );
  });

  it.each(['SluiceError', 'memory', 'casStore', 'leased', 'metered', 'synced'])(
    'bundles no algorithm: %s',
    async (name) => {
      expect(await algorithmsWith(name)).toEqual([]);
    },
  );

  it('in addition to createLimiter bundles no algorithm that policy strings cannot name', async () => {
    const kept = await algorithmsWith('createLimiter, gcra');
    expect(kept).toContain('gcra');
    for (const folder of ['concurrency', 'min-interval', 'penalty']) expect(kept).not.toContain(folder);
  });
});
