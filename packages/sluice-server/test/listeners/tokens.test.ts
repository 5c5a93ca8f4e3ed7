/** Tests that the response time does not reveal anything about the tokens. */
import { beforeEach, describe, expect, test, vi } from 'vitest';

const compared: [number, number][] = [];
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  return {
    ...crypto,
    timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean {
      compared.push([a.byteLength, b.byteLength]);
      return crypto.timingSafeEqual(a, b);
    },
  };
});
const { findToken } = await import('../../src/listeners/grants.ts');

const isToken = (shown: string, tokens: string[]): boolean => findToken(shown, tokens, 'token') !== undefined;

const TOKENS = ['first', 'second, which is much longer than the first', 'third'];
beforeEach(() => void compared.splice(0));

describe('a token', () => {
  test.each([
    'first',
    'third',
    TOKENS[1] ?? '',
    'firs',
    'first ',
    'x'.repeat(100_000),
    '',
    'FIRST',
    'first\0',
  ])('is compared with every known token, in constant time: %j', (shown) => {
    expect(isToken(shown, TOKENS)).toBe(TOKENS.includes(shown));
    expect(compared).toEqual(Array(3).fill([32, 32]));
  });

  test('that is empty is rejected, even if an empty token is configured', () => {
    expect(isToken('', [''])).toBe(false);
    expect(isToken('', [])).toBe(false);
  });
});
