/** The clients that people have, as the one thing a store needs of them: to run a script. */
import { SluiceError } from '../../errors.ts';

/** A client of your own: sends a command, for instance ['EVALSHA', …], and returns the reply. */
export interface CommandClient {
  /** Keys of one command must share a slot; default false. */
  readonly cluster?: boolean;
  /** Sends a command and returns the reply; rejects with the server's error. */
  send(command: readonly string[]): Promise<unknown>;
}

/** ioredis, iovalkey, node-redis, valkey-glide, single, Sentinel or Cluster; or an object with `send`. */
export type RedisClient =
  | CommandClient
  | { readonly evalshaBuffer: unknown }
  | { readonly sendCommand: unknown }
  | { readonly customCommand: unknown };

export interface Connection {
  /** Keys of one call must share a slot. */
  readonly cluster: boolean;
  /** Replies arrive as bytes; otherwise they are asked for in hexadecimal. */
  readonly binary: boolean;
  evaluate(
    command: 'EVALSHA' | 'EVAL',
    script: string,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown>;
}

type Method = (...args: unknown[]) => Promise<unknown>;
type Methods = Readonly<Record<string, Method | undefined>>;

/** RESP's marker of a bulk string, by which node-redis maps replies to types. */
const BULK_STRING = 36;
const AS_BYTES = { typeMapping: { [BULK_STRING]: Buffer } };
/** valkey-glide's Decoder.Bytes. */
const DECODE_BYTES = { decoder: 0 };

/** Tells whose client it is by its shape. */
export function connectionOf(client: RedisClient): Connection {
  const methods = client as Methods;
  if (typeof methods !== 'object' || methods === null) throw unknown(client);
  if (typeof methods['evalshaBuffer'] === 'function') return ioredis(methods);
  if (typeof methods['customCommand'] === 'function') return glide(methods);
  if (typeof methods['sendCommand'] === 'function') return nodeRedis(methods);
  if (typeof methods['send'] === 'function') return own(client as CommandClient);
  throw unknown(client);
}

function unknown(client: unknown): SluiceError {
  return new SluiceError(
    'ERR_OPTIONS',
    'redis.client',
    client,
    '',
    'must be a client of ioredis, iovalkey, node-redis or valkey-glide, or an object with send(command)',
  );
}

function ioredis(client: Methods): Connection {
  return {
    cluster: (client as { isCluster?: unknown }).isCluster === true,
    binary: true,
    evaluate(command, script, keys, args) {
      const method = command === 'EVALSHA' ? 'evalshaBuffer' : 'evalBuffer';
      return (client[method] as Method).call(client, script, keys.length, ...keys, ...args);
    },
  };
}

function nodeRedis(client: Methods): Connection {
  const cluster = 'slots' in client;
  const sentinel = 'getSentinelNode' in client;
  return {
    cluster,
    binary: true,
    evaluate(command, script, keys, args) {
      const words = [command, script, String(keys.length), ...keys, ...args];
      const send = client['sendCommand'] as Method;
      // A cluster wants to know the key that decides the node; both of these, whether a replica would do.
      if (cluster) return send.call(client, keys[0], false, words, AS_BYTES);
      return sentinel ? send.call(client, false, words, AS_BYTES) : send.call(client, words, AS_BYTES);
    },
  };
}

function glide(client: Methods): Connection {
  return {
    cluster: 'fcallWithRoute' in client,
    binary: true,
    evaluate: (command, script, keys, args) =>
      (client['customCommand'] as Method).call(
        client,
        [command, script, String(keys.length), ...keys, ...args],
        DECODE_BYTES,
      ),
  };
}

function own(client: CommandClient): Connection {
  return {
    cluster: client.cluster === true,
    binary: false,
    evaluate: (command, script, keys, args) =>
      client.send([command, script, String(keys.length), ...keys, ...args]),
  };
}
