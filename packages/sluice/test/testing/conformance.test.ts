import { describe, test } from 'vitest';
import { conformance } from '../../src/testing/index.ts';
import { STORES } from '../support/stores.ts';

for (const [name, make] of Object.entries(STORES)) {
  // Concurrent, because Valkey in WebAssembly answers only ten times per second.
  describe.concurrent(name, () => {
    for (const claim of conformance(make)) test(claim.name, claim.run);
  });
}
