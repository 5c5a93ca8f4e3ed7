/** Tests the warnings about failures. The fallback hides failed hits from callers, so a warning must tell the operator. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  createLimiter,
  type Decision,
  type Limiter,
  memory,
  type Store,
  StoreUnavailable,
} from '../../../src/index.ts';
import {
  type BreakerEvent,
  resilient,
  type ResilientOptions,
} from '../../../src/wrappers/resilient/resilient.ts';

const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
afterEach(() => emit.mockClear());

/** Codes and messages of the warnings so far. */
function warnings(): { readonly code: string | undefined; readonly message: string }[] {
  return emit.mock.calls.map(([message, options]) => ({
    code: (options as { readonly code?: string }).code,
    message: String(message),
  }));
}

function limiterOver(
  apply: Store<Promise<Decision>>['apply'],
  options: ResilientOptions,
): Limiter<Promise<Decision>> {
  const store: Store<Promise<Decision>> = { clock: memory().clock, apply, close() {} };
  return createLimiter('10/day', { store: resilient(store, options), name: 'api' });
}

const failing = (message: string, options: ResilientOptions = {}): Limiter<Promise<Decision>> =>
  limiterOver(() => Promise.reject(new Error(message)), options);

describe.each([
  ['SLUICE_STORE_WRONG_TYPE', 'WRONGTYPE Operation against a key holding the wrong kind of value'],
  ['SLUICE_STORE_SCRIPT', 'ERR Error running script: attempt to index a nil value'],
])('the warning %s', (code, error) => {
  test('appears once, and says what happened and what decides instead of the store', async () => {
    const limiter = failing(error);
    for (let i = 0; i < 20; i++) expect((await limiter.take('k')).source).toBe('fallback');
    expect(warnings()).toEqual([{ code, message: expect.stringContaining(error) }]);
    expect(warnings()[0].message).toContain('each limiter counts in this process alone (option onFailure)');
  });

  test('appears even if onEvent is set, because no breaker opens', async () => {
    const events: BreakerEvent[] = [];
    const limiter = failing(error, { onFailure: 'allow', onEvent: (event) => events.push(event) });
    for (let i = 0; i < 20; i++) await limiter.take('k');
    expect(events).toEqual([]);
    expect(warnings()).toEqual([{ code, message: expect.stringContaining('everything is allowed') }]);
  });

  test("does not appear with onFailure: 'throw', because callers get the error", async () => {
    await expect(failing(error, { onFailure: 'throw' }).take('k')).rejects.toThrow(error);
    expect(warnings()).toEqual([]);
  });
});

test('the warning SLUICE_STORE_OVERLOADED appears once when more hits are in flight than maxInFlight allows', async () => {
  const limiter = limiterOver(() => new Promise(() => {}), { maxInFlight: 2, deadline: '1m' });
  void limiter.take('a');
  void limiter.take('b');
  for (let i = 0; i < 5; i++) expect((await limiter.take('c')).source).toBe('fallback');
  expect(warnings()).toEqual([
    { code: 'SLUICE_STORE_OVERLOADED', message: expect.stringContaining('raise maxInFlight') },
  ]);
});

test('failures are announced even if onFailure is a limiter', async () => {
  await failing('WRONGTYPE', { onFailure: createLimiter('1/s') }).take('k');
  expect(warnings()[0].message).toContain('the limiter given as onFailure decides');
});

test('each kind of failure is announced once for each store', async () => {
  let message = 'WRONGTYPE';
  const apply = () => Promise.reject(new Error(message));
  const limiters = [limiterOver(apply, {}), limiterOver(apply, {})];
  for (const limiter of limiters) await limiter.take('k');
  message = 'ERR user script failed';
  for (const limiter of limiters) await limiter.take('k');
  expect(warnings().map(({ code }) => code)).toEqual([
    'SLUICE_STORE_WRONG_TYPE',
    'SLUICE_STORE_WRONG_TYPE',
    'SLUICE_STORE_SCRIPT',
    'SLUICE_STORE_SCRIPT',
  ]);
});

describe('the warning SLUICE_STORE_UNAVAILABLE', () => {
  test('appears once when a breaker opens, and says why and what decides instead', async () => {
    const limiter = failing('read ECONNRESET', { onFailure: 'deny' });
    for (let i = 0; i < 3; i++) await limiter.take('k');
    expect(warnings()).toEqual([]);
    for (let i = 0; i < 9; i++) await limiter.take('k');
    expect(warnings()).toEqual([
      {
        code: 'SLUICE_STORE_UNAVAILABLE',
        message: expect.stringMatching(
          /^the store does not answer \(connection: read ECONNRESET\)\. Until it does, everything is denied/,
        ),
      },
    ]);
  });

  test('does not repeat the fault if the store itself rejects with a StoreUnavailable', async () => {
    const limiter = limiterOver(() => Promise.reject(new StoreUnavailable('loading')), {
      onFailure: 'throw',
    });
    for (let i = 0; i < 5; i++) await limiter.take('k').catch(() => {});
    expect(warnings()[0].message).toContain('the store does not answer (loading).');
  });

  test('names the node of a cluster', async () => {
    const { clock } = memory();
    const store = resilient(
      { clock, apply: () => Promise.reject(new Error('read ECONNRESET')), close() {} },
      { onFailure: 'allow' },
      { nodeOf: () => '10.0.0.7:6379' },
    );
    const limiter = createLimiter('10/day', { store, name: 'api' });
    for (let i = 0; i < 5; i++) await limiter.take('k');
    expect(warnings()[0].message).toContain('node 10.0.0.7:6379 of the store does not answer');
  });

  test('does not appear if onEvent is set', async () => {
    const limiter = failing('read ECONNRESET', { onFailure: 'allow', onEvent() {} });
    for (let i = 0; i < 9; i++) await limiter.take('k');
    expect(warnings()).toEqual([]);
  });
});
