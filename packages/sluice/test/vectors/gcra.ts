import type { Cells } from 'sluice-test-support/vectors/gcra.ts';
import { gcra, type Policy } from '../../src/index.ts';
import { inMillis } from '../../src/internal/duration.ts';

export const policyOf = ({ interval, burst }: Cells): Policy =>
  gcra({ limit: 1, per: inMillis(interval), burst });
