/**
 * Adapters for the supported clients. Each adapter reduces a client to the one operation that the store needs, which is running a
 * script.
 */
import { warnOnce } from '../../internal/warn.ts';
import { nodeIn } from './hash-slots.ts';

/** A custom client, which sends a command, such as ['EVALSHA', …], and returns the reply. */
export interface CommandClient {
  /** Whether the keys of one command must share a slot. Default false. */
  readonly cluster?: boolean;
  /** Sends a command and returns the reply. Rejects with the server's error. */
  send(command: readonly string[]): Promise<unknown>;
}

export interface Connection {
  /** The client that was passed to the store. Warnings are emitted once per client. */
  readonly client: object;
  /** Whether the keys of one call must share a slot. */
  readonly cluster: boolean;
  /** Whether arguments and replies may be bytes. If false, they are exchanged in hexadecimal, which a string can hold. */
  readonly binary: boolean;
  /**
   * Whether each call is a separate HTTP request. If so, calls never wait for each other, because on serverless platforms, a
   * request ends together with the invocation that sent it.
   */
  readonly isStateless?: boolean;
  evaluate(
    command: 'EVALSHA' | 'EVAL',
    script: string,
    keys: readonly string[],
    args: readonly (string | Buffer)[],
  ): Promise<unknown>;
  /** Closes the connections that the store itself opened. The client that was passed to the store stays open. */
  close?(): void;
  /** The node of a cluster that serves a key, if the client knows it. */
  nodeOf?(key: string): string | undefined;
}

/** A client of another library. Only its shape is known. */
export type Client = Readonly<Record<string, unknown>>;

export type Method = (...args: unknown[]) => Promise<unknown>;

/** RESP's type marker of bulk strings. node-redis 5 and later choose the type of a reply by such a marker. */
const BULK_STRING = 36;
/** Options that ask node-redis for bytes. Version 4 reads the first option, and later versions read the second. */
const AS_BYTES = { returnBuffers: true, typeMapping: { [BULK_STRING]: Buffer } };
/** Options that ask valkey-glide for bytes. The value of its Decoder.Bytes is 0. */
const DECODE_BYTES = { decoder: 0 };

/** Adapter for ioredis and iovalkey. */
export function ioredis(client: Client): Connection {
  return {
    client,
    cluster: client['isCluster'] === true,
    binary: true,
    ...(client['isCluster'] === true && { nodeOf: nodeIn(client) }),
    evaluate(command, script, keys, args) {
      const method = command === 'EVALSHA' ? 'evalshaBuffer' : 'evalBuffer';
      return (client[method] as Method).call(client, script, keys.length, ...keys, ...args);
    },
  };
}

/** Adapter for node-redis 4 and later. */
export function nodeRedis(client: Client): Connection {
  const cluster = 'slots' in client;
  const sentinel = 'getSentinelNode' in client;
  // In the legacy mode of node-redis 4, the methods of the client itself take callbacks.
  const isLegacy = (client['options'] as Client | undefined)?.['legacyMode'] === true;
  const target = isLegacy ? (client['v4'] as Client) : client;
  const send = target['sendCommand'] as Method;
  return {
    client,
    cluster,
    binary: true,
    ...(cluster && { nodeOf: nodeIn(client) }),
    evaluate(command, script, keys, args) {
      const words = [command, script, String(keys.length), ...keys, ...args];
      // A cluster routes by the first key. The argument `false` tells a cluster or a Sentinel that the command must not go to a
      // replica.
      if (cluster) return send.call(target, keys[0], false, words, AS_BYTES);
      return sentinel ? send.call(target, false, words, AS_BYTES) : send.call(target, words, AS_BYTES);
    },
  };
}

/** Adapter for node-redis 3, which takes callbacks and returns strings unless the client was created with `return_buffers`. */
export function nodeRedis3(client: Client): Connection {
  const send = client['send_command'] as (...args: unknown[]) => unknown;
  return {
    client,
    cluster: false,
    binary: (client['options'] as Client | undefined)?.['return_buffers'] === true,
    evaluate: (command, script, keys, args) =>
      new Promise((resolve, reject) => {
        const done = (error: unknown, reply: unknown): void => (error ? reject(error) : resolve(reply));
        send.call(client, command, [script, String(keys.length), ...keys, ...args], done);
      }),
  };
}

export function glide(client: Client): Connection {
  return {
    client,
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

/** Adapter for the client that is built into Bun. The command and its arguments are two parameters, and replies are strings. */
export function bun(client: Client): Connection {
  return {
    client,
    cluster: false,
    binary: false,
    async evaluate(command, script, keys, args) {
      try {
        return await (client['send'] as Method).call(client, command, [
          script,
          String(keys.length),
          ...keys,
          ...args,
        ]);
      } catch (error) {
        // Bun rejects every command with this error once it has stopped reconnecting.
        if (/connection has failed/i.test(String(error)))
          warnOnce(
            'SLUICE_REDIS_GAVE_UP',
            "Bun's Redis client has stopped reconnecting, so onFailure answers every check until the process restarts; create the client with a large maxRetries, such as new RedisClient(url, { maxRetries: 1e9 })",
            client,
          );
        throw error;
      }
    },
  };
}

export function custom(client: CommandClient): Connection {
  return {
    client,
    cluster: client.cluster === true,
    binary: false,
    evaluate: (command, script, keys, args) =>
      client.send([command, script, String(keys.length), ...keys, ...args.map(String)]),
  };
}
