// Runs the conformance suite on Redis, with ioredis as the runtime loads it. The argument is the server's port.
import { Redis } from 'ioredis';
import { redis } from 'sluice/redis';
import { conformance } from 'sluice/testing';
import { judged } from './run.mjs';

const client = new Redis(Number(process.argv[2]), '127.0.0.1', { db: 14 });
await client.flushdb();
console.log(JSON.stringify(await judged(conformance((clock) => redis(client, { clock, deadline: 5000 })))));
client.disconnect();
