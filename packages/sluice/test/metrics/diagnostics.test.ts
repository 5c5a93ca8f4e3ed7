import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, test } from 'vitest';
import { createLimiter, memory, metered, StoreUnavailable } from '../../src/index.ts';
import { type DecisionMessage, diagnostics, type FaultMessage } from '../../src/metrics/diagnostics.ts';
import { redis } from '../../src/stores/redis/index.ts';

test('diagnostics publishes each hit of every limiter until the subscriber leaves', () => {
  const limiter = createLimiter('1/h', { store: metered(memory(), diagnostics), name: 'api' });
  const heard: DecisionMessage[] = [];
  const listen = (message: unknown): void => {
    heard.push(message as DecisionMessage);
  };
  limiter.take('alice');
  subscribe('sluice:decision', listen);
  const decision = limiter.take('alice', 0.5);
  unsubscribe('sluice:decision', listen);
  limiter.take('alice');
  expect(heard).toHaveLength(1);
  expect(heard[0]).toMatchObject({
    hit: { verb: 'take', key: 'alice', cost: 0.5, plan: { name: 'api' } },
    outcome: 'denied',
    took: undefined,
  });
  expect(heard[0]?.decision).toBe(decision);
});

test('diagnostics publishes faults on a separate channel', async () => {
  const store = redis(
    { send: () => Promise.reject(new Error('connect ECONNREFUSED')) },
    { onFailure: 'throw' },
  );
  const limiter = createLimiter('1/h', { store: metered(store, diagnostics), name: 'api' });
  const heard: FaultMessage[] = [];
  const listen = (message: unknown): void => {
    heard.push(message as FaultMessage);
  };
  await expect(limiter.take('alice')).rejects.toThrow(StoreUnavailable);
  subscribe('sluice:fault', listen);
  await expect(limiter.take('alice')).rejects.toThrow(StoreUnavailable);
  unsubscribe('sluice:fault', listen);
  expect(heard).toHaveLength(1);
  expect(heard[0]).toMatchObject({ hit: { verb: 'take', key: 'alice' }, fault: 'connection' });
  expect(heard[0]?.error).toBeInstanceOf(StoreUnavailable);
});
