/** Tests that must pass on every version of Node when connections close early. */
import type { Claim } from './audit.ts';
import { pipelining } from './pipelining.ts';
import { streams } from './streams.ts';

export const claims: readonly Claim[] = [...pipelining, ...streams];
