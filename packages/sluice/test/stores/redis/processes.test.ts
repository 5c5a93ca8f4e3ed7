import { admitExactlyTheLimit } from './hammers.ts';
import { redisServer } from 'sluice-test-support/redis/server.ts';

admitExactlyTheLimit(200, redisServer, [['ioredis'], ['ioredis'], ['iovalkey'], ['node-redis']]);
