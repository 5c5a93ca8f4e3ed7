/** How fast the RESP door is, printed and not judged: machines differ. Clients are processes of their own. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { openResp } from '../src/doors/resp.ts';
import { opened } from './doors.ts';

async function benchmark(port: number, pipeline: number, ...words: string[]): Promise<string> {
  const n = pipeline === 1 ? 20_000 : 100_000;
  const args = ['-p', port, '-n', n, '-c', 20, '-P', pipeline, '-r', 10_000, '--csv', ...words].map(String);
  const before = process.cpuUsage();
  const { stdout } = await promisify(execFile)('redis-benchmark', args);
  const { user, system } = process.cpuUsage(before);
  const rate = Number(stdout.trim().split('\n').at(-1)?.split(',')[1]?.replaceAll('"', '')).toFixed(0);
  // A busy machine changes the rate, but not so much what an answer costs.
  return `${rate}/s (${((user + system) / n).toFixed(1)} µs of this process each)`;
}

test('CL.THROTTLE and THROTTLE beside a plain INCR of redis-server', async () => {
  const { port } = await opened(openResp, 'limits: { api: 10/min }');
  const lines = [];
  for (const pipeline of [1, 50]) {
    const cell = await benchmark(port, pipeline, 'CL.THROTTLE', 'k:__rand_int__', '15', '30', '60');
    const own = await benchmark(port, pipeline, 'THROTTLE', 'k:__rand_int__', 'api');
    const redis = await benchmark(inject('redisPort'), pipeline, 'INCR', 'k:__rand_int__');
    lines.push(
      `pipeline ${pipeline}: CL.THROTTLE ${cell}, THROTTLE ${own}, INCR of redis-server ${redis.split(' ')[0]}`,
    );
  }
  console.log(lines.join('\n'));
  expect(lines).toHaveLength(2);
}, 120_000);
