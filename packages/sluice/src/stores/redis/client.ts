/**
 * Recognizes a Redis client by its shape. A value that cannot run a script is rejected when the store is created.
 * If the client can be duplicated, the store uses its own connection.
 */
import { SluiceError } from '../../internal/errors.ts';
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
import {
  glideSource,
  ioredisSource,
  nodeRedis3Source,
  nodeRedis5SentinelSource,
  nodeRedisSource,
} from './duplicates.ts';
import { handleErrorsOf } from './error-listener.ts';
import { shared } from './shared.ts';
import { isUpstash, lacksCredentials, upstash } from './upstash.ts';

/**
 * A client of ioredis, iovalkey, node-redis, valkey-glide or Bun, connected to a single server, a Sentinel or a Cluster, a client of
 * `@upstash/redis`, or an object with `send`.
 */
export type RedisClient =
  | CommandClient
  | { readonly evalshaBuffer: unknown }
  | { readonly sendCommand: unknown }
  | { readonly customCommand: unknown }
  | { readonly evalsha: unknown; readonly createScript: unknown }
  | { readonly send: unknown; readonly onconnect: unknown };

/**
 * Creates a connection from a client. If the store cannot use the client, throws a SluiceError that says what to pass instead.
 */
export function connectionOf(client: RedisClient): Connection {
  const given: unknown = client;
  if (typeof given !== 'object' || given === null) throw refused(given, withoutClient(given));
  const found = given as Client;
  const has = (name: string): boolean => typeof found[name] === 'function';
  if (has('evalshaBuffer')) {
    if (found['isPipeline'] === true) throw refused(given, TRANSACTION);
    mustBeOpen(found, found['status'] === 'end');
    if (has('duplicate')) return shared(found, () => ioredisSource(found));
    if (sendsAgain(found)) throw refused(given, SENDS_AGAIN);
    return ioredis(found);
  }
  if (has('customCommand')) {
    if (!has('close')) throw refused(given, TRANSACTION);
    mustBeOpen(found, found['isClosed'] === true);
    return typeof found['config'] === 'object' ? shared(found, () => glideSource(found)) : glide(found);
  }
  if (has('internal_send_command')) {
    mustBeOpen(found, found['closing'] === true);
    handleErrorsOf(found);
    return has('duplicate') ? shared(found, () => nodeRedis3Source(found)) : nodeRedis3(found);
  }
  // All node-redis clients of version 4 and later have `isOpen`, but their legacy and transaction interfaces do not.
  if (has('sendCommand') && 'isOpen' in found) {
    handleErrorsOf(found);
    if (has('duplicate')) return shared(found, () => nodeRedisSource(found));
    if ('getSentinelNode' in found) {
      if (!has('_execute')) throw refused(given, UNSAFE_SENTINEL);
      return shared(found, () => nodeRedis5SentinelSource(found));
    }
    // A pool is used directly and not duplicated, because it never sends a command twice and abandons connections that do not
    // answer.
    return nodeRedis(found);
  }
  if (isUpstash(found)) {
    if (!has('pipeline')) throw refused(given, TRANSACTION);
    if (lacksCredentials(found)) throw refused(given, NO_CREDENTIALS);
    return upstash(found);
  }
  if (has('send')) return 'onconnect' in found ? bun(found) : custom(client as CommandClient);
  throw refused(given, withoutCommand(found, has));
}

const KNOWN =
  'must be a client of ioredis, iovalkey, node-redis, valkey-glide, @upstash/redis or Bun, or an object with send(command)';
const TRANSACTION = 'is a pipeline or transaction; pass the client that created it';
const FUNCTION =
  'is a function; pass the client that it creates, such as new Redis() from ioredis or createClient() from node-redis';

const NO_CREDENTIALS =
  'is a client of @upstash/redis without a URL or a token; set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN, or pass both to new Redis({ url, token })';

const SENDS_AGAIN =
  'has no duplicate() and would resend a command whose reply was lost, so that a hit is counted twice; create it with maxRetriesPerRequest: 0 (for a Cluster, retryDelayOnFailover: 0), or pass the original client';

const UNSAFE_SENTINEL =
  'is a Sentinel client that resends a command whose reply was lost, so that a hit is counted twice; use node-redis 6';

/** Whether an ioredis client repeats commands that were not answered. */
function sendsAgain(client: Client): boolean {
  const options = (client['options'] ?? {}) as Client;
  return client['isCluster'] === true
    ? options['retryDelayOnFailover'] !== 0
    : options['maxRetriesPerRequest'] !== 0;
}

function withoutClient(value: unknown): string {
  if (typeof value === 'string')
    return 'is an address; pass a client that is connected to it, such as new Redis(url) from ioredis';
  return typeof value === 'function' ? FUNCTION : KNOWN;
}

/** Explains why an object without a usable method to send commands is rejected. */
function withoutCommand(client: Client, has: (name: string) => boolean): string {
  if (has('then')) return 'is a promise; await it and pass the client';
  if (has('sendCommand'))
    return 'is not a complete client of node-redis; pass the client itself, not client.legacy() or client.multi(), or an object with send(command)';
  if (has('send_command'))
    return 'is a client of an old version of node-redis; use version 3 or newer, or an object with send(command)';
  if (client instanceof URL) return withoutClient(client.href);
  if (has('createClient') || has('Redis') || has('GlideClient'))
    return 'is a module; pass a client, such as new Redis() from ioredis or createClient() from node-redis';
  return KNOWN;
}

function mustBeOpen(client: Client, isClosed: boolean): void {
  if (isClosed) throw refused(client, 'is closed; pass a client that is connected or still connecting');
}

function refused(client: unknown, words: string): SluiceError {
  return new SluiceError('ERR_OPTIONS', 'redis.client', client, '', words);
}
