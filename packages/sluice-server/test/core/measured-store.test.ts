/** Tests that the server measures its store without slowing down takes on the memory store. */
import { memory } from 'sluice';
import { expect, test, vi } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { createCore } from '../../src/core/core.ts';

test('a limit on the memory store uses the fast path of the store', () => {
  const store = memory();
  const taker = vi.spyOn(store, 'taker');
  const core = createCore(parseConfig([{ file: 'limits.yaml', text: 'limits: { api: 1/h }' }]), { store });
  expect(taker.mock.results.map(({ value }) => typeof value)).toEqual(['function']);
  expect(core.take('api', 'alice')).toMatchObject({ allowed: true });
  expect(core.take('api', 'alice')).toMatchObject({ allowed: false });
});
