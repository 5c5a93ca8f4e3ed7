import { contenders } from './redis/contenders.mjs';
const port = Number(process.argv[2]);
const names = Object.keys(contenders).filter(
  (n) => /^(sluice|rate-limit-redis|bare)$/.test(n) || n.includes('evalsha') || n === 'bare',
);
const made = {};
for (const n of names) made[n] = await contenders[n].make({ limit: 1e9, rate: 1000, window: 86400000, port });
let seed = 1;
const rnd = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % 10000;
async function go(c, ms) {
  const end = performance.now() + ms;
  let n = 0;
  const cpu = process.cpuUsage();
  const t = performance.now();
  await Promise.all(
    Array.from({ length: 256 }, async () => {
      while (performance.now() < end) {
        await c.check('client-' + String(rnd()).padStart(5, '0'));
        n++;
      }
    }),
  );
  const u = process.cpuUsage(cpu);
  const el = performance.now() - t;
  return { persec: Math.round((n / el) * 1000), cpu: ((u.user + u.system) / n).toFixed(2) };
}
for (const n of names) await go(made[n], 1000);
for (let i = 0; i < 3; i++) for (const n of names) console.log(n, await go(made[n], 800));
process.exit();
