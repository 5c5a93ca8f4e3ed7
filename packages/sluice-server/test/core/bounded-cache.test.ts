/**
 * Names and keys are slices of the input that a client sent. Keeping such a slice must not keep the rest of the input in memory.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { memory, type Store } from 'sluice';
import { expect, test } from 'vitest';
import { openResp } from '../../src/listeners/resp/resp.ts';
import { SpaceSaving } from '../../src/telemetry/metrics/space-saving.ts';
import { command, opened, talk } from '../listeners/listeners.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heap(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

test('the list of most denied keys does not retain the requests from which its keys were sliced', () => {
  const before = heap();
  const sketch = new SpaceSaving(200);
  for (let i = 0; i < 400; i++) sketch.see(`the name of number ${i} ${'x'.repeat(500_000)}`.slice(0, 30));
  // The heap would grow by 100 MB if the whole input stayed in memory.
  expect(heap() - before).toBeLessThan(30);
  expect(sketch.top(1)[0]?.name).toMatch(/^the name of number \d+ x+$/);
});

test('a store that keeps keys does not retain the requests from which the keys were sliced', async () => {
  const table = memory();
  const keys: string[] = [];
  const store: Store = {
    clock: table.clock,
    close: () => {},
    apply(hit) {
      keys.push(hit.key);
      return table.apply(hit);
    },
  };
  const { port } = await opened(openResp, 'limits: { api: 10/min }', { store });
  const before = heap();
  const filler = command('ECHO', 'x'.repeat(60_000));
  const pieces = Array.from(
    { length: 1000 },
    (_, i) => filler + command('THROTTLE', `key of number ${i}`, 'api'),
  );
  await talk(port, ...pieces);
  expect(keys.length).toBe(1000);
  pieces.length = 0;
  // The heap would grow by 60 MB if the whole input stayed in memory.
  expect(heap() - before).toBeLessThan(25);
});
