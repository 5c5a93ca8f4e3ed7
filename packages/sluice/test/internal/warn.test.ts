import { afterEach, expect, test, vi } from 'vitest';
import { warnOnce } from '../../src/internal/warn.ts';

afterEach(() => vi.restoreAllMocks());

test('warnOnce emits a process warning with its code, once for each code and object', () => {
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const [first, second] = [{}, {}];
  warnOnce('SLUICE_TEST', 'once', first);
  warnOnce('SLUICE_TEST', 'again', first);
  warnOnce('SLUICE_TEST', 'another object', second);
  warnOnce('SLUICE_OTHER', 'another code', first);
  expect(emit.mock.calls).toEqual([
    ['once', { type: 'SluiceWarning', code: 'SLUICE_TEST' }],
    ['another object', { type: 'SluiceWarning', code: 'SLUICE_TEST' }],
    ['another code', { type: 'SluiceWarning', code: 'SLUICE_OTHER' }],
  ]);
});

test('warnOnce writes to the console if there is no process', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  vi.stubGlobal('process', undefined);
  try {
    warnOnce('SLUICE_TEST', 'message', {});
  } finally {
    vi.unstubAllGlobals();
  }
  expect(warn.mock.calls).toEqual([['SLUICE_TEST: message']]);
});
