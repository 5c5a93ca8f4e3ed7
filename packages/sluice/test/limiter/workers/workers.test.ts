import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Returns the codes of the warnings in each worker. */
function workers(env: Record<string, string>): string[][] {
  const file = new URL('./cluster.mjs', import.meta.url);
  const out = execFileSync(process.execPath, [file.pathname], {
    env: { ...process.env, ...env },
    timeout: 60_000,
  });
  return JSON.parse(out.toString()) as string[][];
}

/** Returns the codes of the warnings in a process with this environment that creates a limiter without a store. */
function warned(env: Record<string, string>): string {
  const script = `
    process.on('warning', ({ code }) => console.log(code));
    const { createLimiter } = await import('./dist/index.js');
    createLimiter('100/min');`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: new URL('../../..', import.meta.url),
    env: { ...process.env, ...env },
    timeout: 60_000,
  }).toString();
}

test('each of four cluster workers warns once that the default store counts per process', {
  timeout: 90_000,
}, () => {
  const once = ['SLUICE_WORKER_MEMORY'];
  expect(workers({})).toEqual([once, once, once, once]);
});

test('workers with an explicit memory() store do not warn', { timeout: 90_000 }, () => {
  expect(workers({ STORE: 'memory' })).toEqual([[], [], [], []]);
});

test('a second instance under PM2 warns, but a single instance does not', { timeout: 90_000 }, () => {
  expect(warned({ NODE_APP_INSTANCE: '1', pm_id: '1' })).toBe('SLUICE_WORKER_MEMORY\n');
  expect(warned({ NODE_APP_INSTANCE: '0', pm_id: '0' })).toBe('');
  expect(warned({})).toBe('');
});
