/** Claims that hold for any service: here over one in this process that is as slow and as contended as a test wants. */
import { describe, expect, test } from 'vitest';
import { type CasService, casStore, createLimiter, gcra, memory, slidingLog } from '../../src/index.ts';
import { conformance, manualClock } from '../../src/testing/index.ts';
import { differential } from '../differential.ts';

interface Kept {
  readonly value: Uint8Array;
  readonly version: number;
  readonly expires: number;
}

/** Also counts, and can be told to let others write in between. */
function service() {
  const kept = new Map<string, Kept>();
  const calls = { get: 0, put: 0, lost: 0 };
  let version = 0;
  const own = {
    kept,
    calls,
    between: (_key: string): unknown => undefined,
    async get(key: string) {
      calls.get++;
      await undefined;
      return kept.get(key);
    },
    async put(key: string, value: Uint8Array, expected: number | undefined, expiresInMs: number) {
      await own.between(key);
      calls.put++;
      if (kept.get(key)?.version !== expected) {
        calls.lost++;
        return false;
      }
      kept.set(key, { value, version: ++version, expires: expiresInMs });
      return true;
    },
  };
  return own satisfies CasService<number>;
}

describe('conformance', () => {
  for (const claim of conformance((clock) => casStore(service(), { clock }))) test(claim.name, claim.run);
});

differential('memory against compare and swap', (clock) => casStore(service(), { clock, deadline: '30s' }), {
  hits: 40_000,
  atOnce: 6,
});
