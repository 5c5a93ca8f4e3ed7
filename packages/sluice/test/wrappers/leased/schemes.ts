/** Compares the three ways to share a limit, for docs/leases.svg. */
import { gcra, leased, synced } from '../../../src/index.ts';
import { overAdmitted, type Scenario, simulate } from './simulation.ts';

export interface Measured {
  readonly scheme: 'direct' | 'leased' | 'synced';
  readonly nodes: number;
  /** Units above the limit. */
  readonly over: number;
  readonly callsPerDecision: number;
}

const WRAPS: readonly (readonly [Measured['scheme'], (nodes: number) => Pick<Scenario, 'wrap'>])[] = [
  ['direct', () => ({})],
  ['leased', (nodes) => ({ wrap: (store, machine) => leased(store, { nodes, ...machine }) })],
  ['synced', () => ({ wrap: (store, { clock }) => synced(store, { every: '100ms', clock }) })],
];

/** A burst of 10,000 and 1,000 per second, with 8,000 hits per second on all nodes together, for 10 s. */
export async function measureSchemes(): Promise<Measured[]> {
  const policies = gcra({ limit: 1000, per: '1s', burst: 10_000 });
  const rows: Measured[] = [];
  for (const [scheme, wrapFor] of WRAPS)
    for (const nodes of [1, 2, 4, 8, 16]) {
      const load = { seed: 7, nodes, policies, length: 10_000, load: () => 8000 / nodes };
      const { spends, calls, decisions } = await simulate({ ...load, ...wrapFor(nodes) });
      rows.push({ scheme, nodes, over: overAdmitted(policies, spends), callsPerDecision: calls / decisions });
    }
  return rows;
}
