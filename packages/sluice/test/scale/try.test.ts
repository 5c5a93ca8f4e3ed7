import { expect, test } from 'vitest';
import { fixedWindow, gcra, leased, leakyBucket, slidingLog, slidingWindow, synced, tokenBucket } from '../../src/index.ts';
import { overAdmitted, simulate, total, type Scenario } from './simulation.ts';

const P = {
  gcra: gcra({ limit: 1000, per: '1s', burst: 10_000 }),
  leaky: leakyBucket({ size: 10_000, dripSize: 50, dripRate: 50 }),
  fixed: fixedWindow({ limit: 10_000, per: '10s' }),
  sliding: slidingWindow({ limit: 10_000, per: '10s' }),
  log: slidingLog({ limit: 10_000, per: '10s' }),
};
for (const [name, policies] of Object.entries(P))
  test(name, async () => {
    for (const nodes of [16]) for (const factor of [2, 4]) {
    const base: Scenario = { seed: 1, nodes, policies, length: 40_000, load: () => factor * 1000 / nodes };
    const direct = await simulate(base);
    const t = performance.now();
    const l = await simulate({ ...base, wrap: (store, m) => leased(store, { nodes, ...m }) });
    const s = await simulate({ ...base, wrap: (store, { clock }) => synced(store, { every: '100ms', clock }) });
    console.log(name, nodes, factor, 'direct', total(direct.spends), overAdmitted(policies, direct.spends), direct.calls / direct.decisions,
      'leased', total(l.spends) / total(direct.spends), overAdmitted(policies, l.spends), l.calls / l.decisions, l.failures, (performance.now() - t) | 0,
      'synced', total(s.spends) / total(direct.spends), overAdmitted(policies, s.spends), s.calls / s.decisions);
    }
  }, 120_000);
