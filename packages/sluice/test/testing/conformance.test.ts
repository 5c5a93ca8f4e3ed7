import { describe, test } from 'vitest';
import { conformance } from '../../src/testing/index.ts';
import { STORES } from '../support/stores.ts';

for (const [name, make] of Object.entries(STORES)) {
  // Valkey in wasm answers once in a tenth of a second: all at once, they wait together.
  describe.concurrent(name, () => {
    for (const claim of conformance(make)) test(claim.name, claim.run);
  });
}
