/**
 * Every example that serves is started as a reader would start it, with the built package, and asked until it refuses.
 * An example serves if it reads PORT. Once it is ready, it prints `listening on <url>`, with a path if / is not one.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = join(root, 'examples');
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8');
const examples = readdirSync(folder).filter((file) => file.endsWith('.mjs'));
const servers = examples.filter((file) => textOf(file).includes("process.env['PORT']"));

/** More than any example admits before it refuses. */
const ENOUGH = 100;

describe('an example', () => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill('SIGKILL'));

  function started(file: string): Promise<string> {
    const server = spawn(process.execPath, [join(folder, file)], {
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = server;
    return new Promise((resolve, reject) => {
      let printed = '';
      const read = (chunk: unknown): void => {
        printed += String(chunk);
        const [, url] = /listening on (\S+)\s/.exec(printed) ?? [];
        if (url !== undefined) resolve(url);
      };
      server.stdout.on('data', read);
      server.stderr.on('data', read);
      server.on('exit', () => reject(new Error(`${file} ended, having printed:\n${printed}`)));
    });
  }

  it('needs the built package: npm run build', () => {
    expect(existsSync(join(root, 'packages/sluice/dist/index.js'))).toBe(true);
  });

  it.each(servers)('serves, and refuses what is too much: %s', { timeout: 60_000 }, async (file) => {
    const url = await started(file);
    const statuses: number[] = [];
    let last: Response;
    do {
      last = await fetch(url, { headers: { connection: 'close' } });
      statuses.push(last.status);
      await last.arrayBuffer();
    } while (last.status !== 429 && statuses.length < ENOUGH);
    expect(statuses[0]).toBe(200);
    expect(statuses.at(-1)).toBe(429);
    expect(last.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  it.each(servers)('is short and says how to try it: %s', (file) => {
    expect(textOf(file).split('\n').length - 1).toBeLessThanOrEqual(40);
    expect(textOf(file)).toMatch(/^\/\/.*\bcurl /m);
  });
});
