/** Runs commands in a pseudo-terminal and in a pipe. Needs the build and script(1). */
import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { serving, take, temporaryFile } from '../serving.ts';

const COMMAND = fileURLToPath(new URL('../../bin/sluice.js', import.meta.url));

/** Everything that the command writes to a terminal of this size. */
async function onTerminal(rows: number, columns: number, ...args: string[]): Promise<string> {
  const words = [process.execPath, COMMAND, ...args].map((word) => `'${word}'`).join(' ');
  const command = `stty rows ${rows} cols ${columns}; ${words}`;
  const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null']);
  return stdout;
}

test('sluice top fits into a small terminal and overwrites the previous output', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `limit-${i}`);
  const server = await serving(`limits: { ${names.map((name) => `${name}: 1/h`).join(', ')} }`);
  for (const name of names) for (let i = 0; i < 2; i++) await take(server.url, name, `key${'y'.repeat(70)}`);
  const seen = await onTerminal(20, 40, 'top', server.url, '--times', '2', '--every', '100ms');
  const pictures = seen.split('\u001b[H').slice(1);
  expect(pictures).toHaveLength(2);
  for (const picture of pictures) {
    const lines = picture.replaceAll('\u001b[K', '').replace('\u001b[J', '').split('\r\n');
    expect(lines.length).toBeLessThanOrEqual(20);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
    expect(lines.filter((line) => /^ +\d+\.\d +\d+\.\d {2}limit-/.test(line))).toHaveLength(6);
  }
});

test('sluice replay shows a progress bar on a terminal and erases it at the end, but shows none in a pipe', async () => {
  const log = `${Array.from({ length: 60_000 }, (_, i) => `${1_700_000_000 + i} key-${i % 10}`).join('\n')}\n`;
  const file = temporaryFile(log, 'log');
  const seen = await onTerminal(24, 80, 'replay', file, '--policy', '1/min', '--every', '1d');
  expect(seen).toMatch(/\r█+░+ \d+ %.*\r█{25} 100 %\r.*60000 requests/s);
  const piped = spawn(process.execPath, [COMMAND, 'replay', '-', '--policy', '1/min', '--every', '1d']);
  let heard = '';
  for (const stream of [piped.stdout, piped.stderr]) stream.on('data', (chunk) => (heard += String(chunk)));
  piped.stdin.end(log);
  await new Promise((resolve) => piped.once('close', resolve));
  expect(heard).toContain('60000 requests');
  expect(heard).not.toContain('%\r');
});
