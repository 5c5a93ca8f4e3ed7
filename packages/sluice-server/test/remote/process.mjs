// @ts-check
/**
 * A separate process that checks over HTTP. Its argument is JSON: { url, token, limit, checks }. It prints the number of admitted
 * checks. It runs the built package, because Node 20 cannot run TypeScript.
 */
import { createLimiter, fixedWindow } from 'sluice';
import { remote } from 'sluice/remote';

const { url, token, limit, checks } = JSON.parse(process.argv[2] ?? '');
const store = remote(url, { token, deadline: '30s', onFailure: 'throw' });
const limiter = createLimiter(fixedWindow({ limit, per: '365d', align: 'first' }), { store, name: 'shared' });
let admitted = 0;
let left = checks;
await Promise.all(
  Array.from({ length: 16 }, async () => {
    while (left-- > 0) if ((await limiter.take('alice')).allowed) admitted++;
  }),
);
process.stdout.write(String(admitted));
