import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

test('a plain take calls at most 12 functions in at most 6 files', () => {
  // Runs in a separate process, because precise coverage would disturb the coverage of the test run.
  const script = `
    import { Session } from 'node:inspector/promises';
    import { createLimiter } from './dist/index.js';
    const limiter = createLimiter('100/min');
    limiter.take('a');
    const session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true });
    await session.post('Profiler.takePreciseCoverage');
    limiter.take('b'.replace('b', 'a'));
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const called = result
      .filter(({ url }) => url.includes('/dist/'))
      .flatMap(({ url, functions }) =>
        functions.filter(({ ranges }) => ranges[0].count > 0).map(({ functionName }) => [url, functionName]));
    console.log(JSON.stringify(called));`;
  const called = JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: new URL('../../..', import.meta.url),
    }).toString(),
  ) as [url: string, name: string][];
  expect(called.map(([, name]) => name)).toContain('attempt');
  expect(called.length).toBeLessThanOrEqual(12);
  expect(new Set(called.map(([url]) => url)).size).toBeLessThanOrEqual(6);
});
