// One limit for several machines (here two clients) over DynamoDB. An emulator in this process, dynalite, replaces AWS.
// Needs `npm install @aws-sdk/client-dynamodb`.
//
//   npm run build && node examples/dynamodb.mjs

import { once } from 'node:events';
import { DynamoDB, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import { createLimiter } from 'sluice';
import { dynamodb, migration } from 'sluice/dynamodb';

const emulator = dynalite({ createTableMs: 0 }).listen(0, '127.0.0.1');
await once(emulator, 'listening');
const settings = {
  // In production, pass a region and credentials, and no endpoint.
  endpoint: `http://127.0.0.1:${emulator.address().port}`,
  region: 'local',
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
};
const clients = [new DynamoDB(settings), new DynamoDB(settings)];
await clients[0].createTable(migration().createTable);
// In production, also call updateTimeToLive(migration().updateTimeToLive), which the emulator does not support.
await waitUntilTableExists({ client: clients[0], maxWaitTime: 60 }, { TableName: 'sluice' });

const limiters = clients.map((client) =>
  createLimiter('100/h', { store: dynamodb(client, { deadline: '5s' }), name: 'api' }),
);
const answers = limiters.flatMap((limiter) => Array.from({ length: 60 }, () => limiter.take('alice')));
const passed = (await Promise.all(answers)).filter(({ allowed }) => allowed);
console.log('120 calls to two limiters:', passed.length, 'passed'); // → 120 calls to two limiters: 100 passed
for (const client of clients) client.destroy();
emulator.close();
