// @ts-check
/**
 * A separate process that takes from a user, a team and an organization with takeMany. admitters.ts
 * starts it and controls it by messages. It imports the built package, because Node 20 cannot run TypeScript.
 *
 * argv: the port of the server, and `pg` if the server is Postgres. Message: { round, lanes, calls, user, team }: `lanes`
 * concurrent callers make a call for each of `calls` users of one team. The limits of each user and of the team are `user` and
 * `team`. Answer: { admitted, denials, atomic }: the number of admitted calls, the number of denied calls by the policy that
 * denied them, and the number of atomic decisions.
 */
import { Redis } from 'ioredis';
import pg from 'pg';

const { createLimiter, fixedWindow, gcra, slidingLog } = await import('../../dist/index.js');
const { redis } = await import('../../dist/stores/redis/index.js');
const { postgres } = await import('../../dist/stores/postgres/index.js');

const [, , port, kind] = process.argv;
const patient = /** @type {const} */ ({ deadline: '20s', onFailure: 'throw' });
const store = await connect();

async function connect() {
  if (kind === 'pg') {
    const pool = new pg.Pool({ connectionString: `postgres://postgres:password@127.0.0.1:${port}/postgres` });
    await pool.query('SELECT');
    return postgres(pool, patient);
  }
  const client = new Redis({ port: Number(port) });
  await client.ping();
  return redis(client, patient);
}

async function run({ round, lanes, calls, user, team }) {
  const users = createLimiter(
    { user: fixedWindow({ limit: user, per: '1d', align: 'first' }) },
    { store, name: `users ${round}` },
  );
  const teams = createLimiter({ team: gcra({ limit: team, per: '1d' }) }, { store, name: `teams ${round}` });
  const orgs = createLimiter(
    { org: slidingLog({ limit: 1e6, per: '1d' }) },
    { store, name: `orgs ${round}` },
  );
  const answer = { admitted: 0, denials: {}, atomic: 0 };
  let left = calls;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (left-- > 0) {
        const decision = await users.takeMany([
          { key: `user ${left}` },
          { limiter: teams, key: 'team' },
          { limiter: orgs, key: 'org' },
        ]);
        if (decision.atomic) answer.atomic++;
        if (decision.allowed) answer.admitted++;
        else answer.denials[decision.policy] = (answer.denials[decision.policy] ?? 0) + 1;
      }
    }),
  );
  for (const limiter of [users, teams, orgs]) await limiter.close();
  return answer;
}

process.on('message', (message) => void run(message).then((answer) => process.send?.(answer)));
process.send?.('ready');
