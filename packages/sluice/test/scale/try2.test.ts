import { test } from 'vitest';
import { createLimiter, fixedWindow, gcra, leased, leakyBucket, slidingLog, slidingWindow, memory, type Plan, type Hit } from '../../src/index.ts';
import { overAdmitted, excess, randomOf, simulate, total, type Scenario, type Fault } from './simulation.ts';
const P: any = {
  gcra: gcra({ limit: 200, per: '1s', burst: 2000 }),
  leaky: leakyBucket({ size: 2000, dripSize: 20, dripRate: 100 }),
  fixed: fixedWindow({ limit: 2000, per: '10s' }),
  first: fixedWindow({ limit: 2000, per: '10s', align: 'first' }),
  sliding: slidingWindow({ limit: 2000, per: '10s' }),
  log: slidingLog({ limit: 2000, per: '10s' }),
  coarse: slidingLog({ limit: 2000, per: '10s', resolution: 20 }),
  several: { a: gcra({ limit: 200, per: '1s', burst: 2000 }), b: fixedWindow({ limit: 5000, per: '30s' }) },
};
function scenario(name: string, seed: number): Scenario {
  const random = randomOf(seed);
  const nodes = 1 + Math.floor(random() * 16);
  const period = 500 + random() * 4000, duty = 0.1 + random() * 0.9, turn = 500 + random() * 3000, skew = random();
  const strength = 100 + random() * 3000;
  const length = 30_000;
  const faults: Fault[] = [];
  for (let i = 0; i < 10; i++) faults.push({ kind: random() < 0.7 ? 'stall' : 'losses', node: Math.floor(random() * nodes), at: random() * length, span: random() * 2000 });
  for (let i = 0; i < nodes / 3; i++) faults.push({ kind: 'crash', node: Math.floor(random() * nodes), at: random() * length, span: random() < 0.5 ? Infinity: 2000 });
  const big = random() < 0.3;
  const slow = random() < 0.3 ? 300 : 3;
  return { seed, nodes, policies: P[name], length, faults, lost: random() * (seed % 2) * 0.05, delay: [0.1, seed % 2 ? slow : 1],
    cost: big ? (r) => 1 + Math.floor(r() * 5) : () => 1,
    load: (node, at) => { if (seed % 2 === 0) { const t = at % 12_000; return (t < 1900 ? 180 : t < 2100 ? 40_000 : 0) / nodes; }  if (at % period > duty * period) return 0; const hot = Math.floor(at / turn) % nodes === node; return strength * (hot ? skew + (1-skew)/nodes : (1 - skew) / nodes); } };
}
const only = process.env['ONLY'];
const variant = process.env['VARIANT'] ?? 'right';
for (const name of Object.keys(P)) {
  if (only && name !== only) continue;
  test(name, async () => {
    const policies = P[name];
    let over = 0, caught = 0, worst = -Infinity, util: string[] = [];
    for (let seed = 1; seed <= Number(process.env['SEEDS'] ?? 20); seed++) {
      const s = scenario(name, seed);
      let original: Plan | undefined;
      createLimiter(policies, { name: 'simulated', store: { ...memory(), apply(h: Hit) { original = h.plan; return memory().apply(h); } } }).take('x');
      const tamper = variant === 'unreduced' ? (hit: Hit) => ({ ...hit, plan: original as Plan }) : (hit: Hit) => hit;
      const l = await simulate({ ...s, tamper, wrap: (store, m) => leased(store, { nodes: s.nodes, ...m }) });
      const d = await simulate(s);
      const o = name === 'leaky' ? Math.max(0, excess(l.spends, (w) => 2000 + Math.ceil((w + 1e-6) / 100) * 20)) : name === 'coarse' ? overAdmitted(P.log, l.spends): overAdmitted(policies, l.spends);
      over += o; if (o > 0) caught++;
      util.push(`${s.nodes}:${(total(l.spends) / total(d.spends)).toFixed(2)}/${(l.calls/l.decisions).toFixed(3)}`);
    }
    console.log(name, 'over', over, 'caught', caught, util.join(' '));
  }, 300_000);
}
