/** Tests the order in which configurations take effect, and that the event loop keeps running while a large one is loaded. */
import { writeFileSync } from 'node:fs';
import { memory } from 'sluice';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseConfig, readFiles } from '../../src/config/config.ts';
import { type Core, createCore } from '../../src/core/core.ts';
import { createLog } from '../../src/log.ts';
import { createReloader } from '../../src/config/reload.ts';
import { temporaryFile } from '../serving.ts';

const MANY = 10_000;
const MANY_LIMITS = `limits:\n${Array.from({ length: MANY }, (_, i) => `  limit-${i}: 7/h\n`).join('')}`;

let core: Core;
beforeEach(() => {
  core = createCore(parseConfig([{ file: 'limits.yaml', text: 'limits: { api: 5/h }' }]), {
    store: memory(),
  });
});
afterEach(() => core.close());

test('a large configuration that loads slowly does not replace a newer one', async () => {
  const file = temporaryFile('limits: { api: 5/h }');
  const log = createLog(() => {});
  const reloader = createReloader(core, [file], log, readFiles([file]));
  writeFileSync(file, MANY_LIMITS);
  const older = reloader.check();
  await new Promise((resolve) => setImmediate(resolve));
  writeFileSync(file, 'limits: { api: 8/h }');
  const newer = reloader.check();
  await Promise.all([older, newer]);
  expect(await core.peek('api', 'k')).toMatchObject({ limit: 8 });
});

test('the event loop keeps running while limiters for a large configuration are created', async () => {
  let turns = 0;
  let next = setImmediate(function turn() {
    turns++;
    next = setImmediate(turn);
  });
  await core.reload(parseConfig([{ file: 'limits.yaml', text: MANY_LIMITS }]));
  clearImmediate(next);
  expect(turns).toBeGreaterThan(1);
  expect(core.config.limits.size).toBe(MANY);
});
