/** Recognizes a Redis client by its shape. Everything that could not run a script is refused when the store is created. */
import { SluiceError } from '../../errors.ts';
import {
  bun,
  type Client,
  type CommandClient,
  type Connection,
  custom,
  glide,
  ioredis,
  nodeRedis,
  nodeRedis3,
} from './connections.ts';

/**
 * A client of ioredis, iovalkey, node-redis, valkey-glide or Bun, connected to a single server, a Sentinel or a Cluster;
 * or an object with `send`.
 */
export type RedisClient =
  | CommandClient
  | { readonly evalshaBuffer: unknown }
  | { readonly sendCommand: unknown }
  | { readonly customCommand: unknown }
  | { readonly send: unknown; readonly onconnect: unknown };

/** Throws a SluiceError with the way out if `client` is not a client that the store can use. */
export function connectionOf(client: RedisClient): Connection {
  const given: unknown = client;
  if (typeof given !== 'object' || given === null) throw refused(given, withoutClient(given));
  const found = given as Client;
  const has = (name: string): boolean => typeof found[name] === 'function';
  if (has('evalshaBuffer')) {
    if (found['isPipeline'] === true) throw refused(given, TRANSACTION);
    return ioredis(open(found, found['status'] === 'end'));
  }
  if (has('customCommand')) {
    if (!has('close')) throw refused(given, TRANSACTION);
    return glide(open(found, found['isClosed'] === true));
  }
  if (has('internal_send_command')) return nodeRedis3(open(found, found['closing'] === true));
  // All clients of node-redis 4 and later have `isOpen`; their legacy and transaction interfaces do not.
  if (has('sendCommand') && 'isOpen' in found) return nodeRedis(found);
  if (has('send')) return 'onconnect' in found ? bun(found) : custom(client as CommandClient);
  throw refused(given, withoutCommand(found, has));
}

const KNOWN =
  'must be a client of ioredis, iovalkey, node-redis, valkey-glide or Bun, or an object with send(command)';
const TRANSACTION = 'is a pipeline or transaction; pass the client that created it';
const FUNCTION =
  'is a function; pass the client that it creates, such as new Redis() of ioredis or createClient() of node-redis';

function withoutClient(value: unknown): string {
  if (typeof value === 'string')
    return 'is an address; pass a client that is connected to it, such as new Redis(url) of ioredis';
  return typeof value === 'function' ? FUNCTION : KNOWN;
}

/** Why an object without a usable method to send commands is refused. */
function withoutCommand(client: Client, has: (name: string) => boolean): string {
  if (has('then')) return 'is a promise; await it and pass the client';
  if (has('sendCommand'))
    return 'is not a whole client of node-redis; pass the client itself, not client.legacy() or client.multi(), or an object with send(command)';
  if (has('createScript') && has('autoPipeline'))
    return 'is a client of @upstash/redis, which sends commands over HTTP; pass a client of ioredis or node-redis that is connected to the rediss:// address of the database';
  if (client instanceof URL) return withoutClient(client.href);
  if (has('createClient') || has('Redis') || has('GlideClient'))
    return 'is a module; pass a client, such as new Redis() of ioredis or createClient() of node-redis';
  return KNOWN;
}

function open(client: Client, isClosed: boolean): Client {
  if (isClosed) throw refused(client, 'is closed; pass a client that is connected or still connecting');
  return client;
}

function refused(client: unknown, words: string): SluiceError {
  return new SluiceError('ERR_OPTIONS', 'redis.client', client, '', words);
}
