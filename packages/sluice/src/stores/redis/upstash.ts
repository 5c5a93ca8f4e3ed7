/**
 * Adapter for `@upstash/redis`, which sends each command as an HTTP request and has no connection. It calls the client's requester
 * instead of the client's own methods, because those parse every reply that looks like JSON.
 */
import { noConnection } from '../../internal/no-connection.ts';
import type { Client, Connection } from './connections.ts';

/** The part of the client that sends requests. */
interface Requester {
  request(options: { readonly body: readonly string[] }): Promise<Response | undefined>;
}

interface Response {
  readonly result?: unknown;
  readonly error?: string | undefined;
}

/**
 * The text that `@upstash/redis` inserts between the server's error and the command, which includes the keys and the whole script.
 */
const COMMAND = ', command was: ';
/** Value of the authorization header if the client was created without a token. */
const NO_TOKEN = /^Bearer (undefined|null|)$/;
/** Settings that make the client send each request once. With `retry: false`, it would still repeat a failed request once. */
const ONCE = { attempts: 0, backoff: () => 0 };

/** Whether an object looks like a client, pipeline or transaction of `@upstash/redis`. */
export function isUpstash(client: Client): boolean {
  const requester = client['client'] as Client | null | undefined;
  return typeof client['evalsha'] === 'function' && typeof requester?.['request'] === 'function';
}

/** Whether the client was created without a URL or without a token, so that every command would fail. */
export function lacksCredentials(client: Client): boolean {
  const { baseUrl, headers } = client['client'] as {
    baseUrl?: string;
    headers?: { readonly authorization?: string };
  };
  return baseUrl === '' || NO_TOKEN.test(headers?.authorization ?? '');
}

export function upstash(client: Client): Connection {
  const requester = withoutRetries(client['client'] as Client) as unknown as Requester;
  return {
    client,
    cluster: false,
    binary: false,
    isStateless: true,
    async evaluate(command, script, keys, args) {
      const body = [command, script, String(keys.length), ...keys, ...args.map(String)];
      const { result, error } = (await requester.request({ body }).catch(rethrow)) ?? {};
      if (error !== undefined) throw new Error(error);
      return result;
    },
  };
}

/**
 * The client repeats a request whose reply was lost, so that a hit would be counted twice. The returned object has the same URL, token and
 * options, and sends each request once. The client itself is not changed.
 */
function withoutRetries(requester: Client): Client {
  if (typeof requester['retry'] !== 'object') return requester;
  return Object.create(requester, { retry: { value: ONCE } }) as Client;
}

/**
 * Rejects with the server's error, but removes the command from its message, because a key or a script in the command could be
 * mistaken for the server's error code. If there was no answer, rejects with the reason.
 */
function rethrow(error: unknown): never {
  const message = String((error as Error | undefined)?.message);
  const end = message.indexOf(COMMAND);
  if (end >= 0) throw new Error(message.slice(0, end));
  return noConnection(error);
}
