import { describe, test } from 'vitest';
import { conformance } from '../src/testing/index.ts';
import { STORES } from './stores.ts';

for (const [name, make] of Object.entries(STORES)) {
  describe(name, () => {
    for (const claim of conformance(make)) test(claim.name, claim.run);
  });
}
