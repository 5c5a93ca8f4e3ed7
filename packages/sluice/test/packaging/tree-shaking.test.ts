/** What a bundler keeps of 'sluice' when one name is imported: nothing that this name does not need. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { root } from 'sluice-test-support/packed.ts';

const src = join(root, 'packages/sluice/src');
const folders = readdirSync(join(src, 'algorithms'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

/** Algorithms of which some bytes are left. */
async function algorithmsWith(name: string, entry = 'index'): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents: `import { ${name} } from './${entry}.ts'; console.log(${name});`, resolveDir: src },
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

/** A token bucket is gcra, or a leaky bucket read backwards; places in use are a log. */
const NEEDS: Record<string, readonly string[]> = {
  concurrency: ['sliding-log'],
  'token-bucket': ['gcra', 'leaky-bucket'],
};

const camel = (folder: string) => folder.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

describe('importing one name', () => {
  it.each(folders)('of an algorithm keeps no other: %s', async (folder) => {
    expect((await algorithmsWith(camel(folder))).toSorted()).toEqual(
      [folder, ...(NEEDS[folder] ?? [])].toSorted(),
    );
  });

  it.each(['SluiceError', 'memory', 'casStore', 'leased', 'metered', 'synced'])(
    'keeps no algorithm: %s',
    async (name) => {
      expect(await algorithmsWith(name)).toEqual([]);
    },
  );

  it('createLimiter of the small entry keeps no algorithm but the one beside it', async () => {
    expect(await algorithmsWith('createLimiter', 'core')).toEqual([]);
    expect(await algorithmsWith('createLimiter, gcra', 'core')).toEqual(['gcra']);
  });

  it('createLimiter keeps at most the algorithms that a text can name', async () => {
    const kept = await algorithmsWith('createLimiter');
    for (const folder of ['concurrency', 'min-interval', 'penalty']) expect(kept).not.toContain(folder);
  });
});
