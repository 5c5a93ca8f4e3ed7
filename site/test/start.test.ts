/** Follows "Start in five minutes" as a newcomer would, in an empty folder and with the packed package. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { link, unpack } from 'sluice-test-support/packed.ts';
import { freePort } from 'sluice-test-support/redis/server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(join(root, 'docs/start.md'), 'utf8');

/** The first code block after these words. */
function blockAfter(words: string): string {
  const [, code] = /```\w* ?.*\n([\s\S]*?)\n```/.exec(page.slice(page.indexOf(words))) ?? [];
  expect(page).toContain(words);
  return code ?? '';
}

let folder: string;
let server: ChildProcess | undefined;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-start-'));
  unpack('sluice', folder);
  link('express', folder);
}, 60_000);
afterAll(() => {
  server?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test('the first example prints the output that the page shows', () => {
  const code = blockAfter('Save this as `first.mjs`');
  writeFileSync(join(folder, 'first.mjs'), code);
  const printed = execFileSync(process.execPath, ['first.mjs'], { cwd: folder, encoding: 'utf8' });
  const promised = [...code.matchAll(/\/\/ → (.+)$/gm)].map((match) => match[1]);
  expect(printed.trim().split('\n')).toEqual(promised);
});

test('the server sends the response that the page shows', async () => {
  writeFileSync(join(folder, 'server.mjs'), blockAfter('Save this as `server.mjs`'));
  const port = await freePort();
  server = spawn(process.execPath, ['server.mjs'], {
    cwd: folder,
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => server?.stdout?.once('data', resolve));

  const statuses: number[] = [];
  let last: Response | undefined;
  for (let i = 0; i < 5; i++) {
    last = await fetch(`http://127.0.0.1:${port}/`);
    statuses.push(last.status);
  }
  expect(statuses).toEqual([200, 200, 200, 429, 429]);

  const shown = blockAfter('The last command shows what a client is told');
  for (const name of ['RateLimit-Policy', 'RateLimit', 'Retry-After', 'Content-Type']) {
    const [, value = ''] = new RegExp(`^${name}: (.*)$`, 'm').exec(shown) ?? [];
    // The number of seconds depends on the time of the request.
    const still = (text: string) =>
      text
        .replaceAll(/t=\d+/g, 't=…')
        .replace(/^\d$/, '…')
        .replace(/;? ?charset=.*/, '');
    expect(still(last?.headers.get(name) ?? '')).toBe(still(value));
  }
  const body = /^\{.*?,/m.exec(shown)?.[0] ?? '?';
  expect(await last?.text()).toContain(body);
});
