import { admitExactlyTheLimit } from './hammers.ts';
import { redisServer } from './server.ts';

admitExactlyTheLimit(200, redisServer, [['ioredis'], ['ioredis'], ['iovalkey'], ['node-redis']]);
