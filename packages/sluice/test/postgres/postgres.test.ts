import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import sqlOf from 'postgres';
import type pg from 'pg';
import { createLimiter, type Decision, gcra, type Store } from '../../src/index.ts';
import { migration, postgres, type PostgresOptions } from '../../src/stores/postgres/index.ts';
import { conformance, manualClock } from '../../src/testing/index.ts';
import { differential } from '../differential.ts';
import { type PostgresServer, postgresServer } from './server.ts';

let server: PostgresServer;
let pool: pg.Pool;
let sql: sqlOf.Sql;

beforeAll(async () => {
  server = await postgresServer();
  pool = server.pool();
  sql = sqlOf(server.url, { onnotice: () => {} });
}, 60_000);

afterAll(async () => {
  await sql?.end();
  await server?.stop();
});

/** Slow is not wrong here. */
const patient = { deadline: '30s' } satisfies PostgresOptions;

const CLIENTS = { pg: () => pool, 'postgres.js': () => sql } as const;

describe.each(Object.entries(CLIENTS))('conformance over %s', (_, client) => {
  let stores = 0;
  for (const claim of conformance(async (clock) => {
    const table = `claims_${_.replace('.', '')}_${++stores}`;
    await pool.query(migration({ table, unlogged: true }));
    return postgres(client(), { ...patient, clock, table });
  }))
    test(claim.name, claim.run);
});

differential('memory against postgres', (clock) => postgres(pool, { ...patient, clock }), {
  hits: 20_000,
  atOnce: 6,
});
