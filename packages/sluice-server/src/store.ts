/** Opens the store that a URL names. The Redis and Postgres clients are optional packages, imported on demand. */
import type { SecureContextOptions } from 'node:tls';
import { leased, memory, parseDuration, type Decision, type MaybePromise, type Store } from 'sluice';
import { type BreakerEvent, redis, type RedisClient, type ResilientOptions } from 'sluice/redis';
import type { Cluster, Redis } from 'ioredis';
import type { FailureAnswer } from './config/model.ts';
import { readStoreTls, type StoreTlsFiles } from './config/store-tls.ts';
import { checkStoreUrl } from './config/store-url.ts';
import { UsageError } from './config/usage-error.ts';
import { prefixedStore } from './core/prefixed-store.ts';
import { loadOptional } from './core/load-optional.ts';

/** Where the state of the limits is kept, and what happens while the store is unavailable. */
export interface StoreOptions {
  /** 'memory', or a URL: redis://, rediss://, redis+cluster://, redis+sentinel:// or postgres://. */
  readonly url: string;
  /** Redis only, with rediss://: files with the certificates for the connection. Default: the authorities that Node trusts. */
  readonly tls?: StoreTlsFiles | undefined;
  /** Memory store only: maximum number of keys per limit. Default 1,000,000. */
  readonly maxKeys?: number | undefined;
  /** Prefix of the names of all keys in the store. Servers with different prefixes count separately. Default: none. */
  readonly keyPrefix?: string | undefined;
  /** Timeout for a check in the store, such as '200ms'. */
  readonly deadline?: string | undefined;
  /** What to do while the store is unavailable. Default 'local': this server decides alone, with the same limits. */
  readonly onFailure?: FailureAnswer | undefined;
  /** Whether to answer repeated denials from this process's memory. Default false. */
  readonly denyCache?: boolean | undefined;
  /** If set, this server leases units from the store. `nodes` is the approximate number of servers that share the store. */
  readonly leases?: { readonly nodes: number } | undefined;
  /** Called when the circuit breaker opens and when it closes. */
  readonly onEvent?: ((event: BreakerEvent) => void) | undefined;
  /** Called when the client loses its connection or cannot establish one. */
  readonly onError?: ((error: Error) => void) | undefined;
}

export interface OpenedStore {
  readonly store: Store;
  /** The URL of the store without its password. */
  readonly name: string;
  /** Whether the store keeps the key strings that it is given. */
  readonly keepsKeys: boolean;
  /** Current number of keys. Undefined if the store cannot count them. */
  readonly size: (() => number) | undefined;
  /** The client certificate chain for the store, as PEM. Undefined if there is none. */
  readonly certificate: string | undefined;
  /** Number of keys that were evicted so far. Undefined if the store cannot count them. */
  readonly evictions: (() => number) | undefined;
}

export interface StoreHooks {
  /** Called with false when a Redis client starts to connect in the background, and with true when it is connected. */
  readonly onConnection?: (isConnected: boolean) => void;
  /** What decides for the limit of this name while the store is unavailable. Undefined for the store's default. */
  readonly onFailureOf?: (limit: string) => FailureAnswer | undefined;
}

export async function openStore(
  options: StoreOptions,
  { onConnection = () => {}, onFailureOf = () => undefined }: StoreHooks = {},
): Promise<OpenedStore> {
  const { url, tls, maxKeys, leases, deadline, keyPrefix = '' } = options;
  const certificates = readStoreTls(url, tls);
  if (!/^[\x21-\x7e]{0,100}$/.test(keyPrefix))
    throw new UsageError(
      '--key-prefix must have at most 100 characters, which must be visible ASCII characters',
    );
  // The memory store does not use the deadline, but an invalid one must not go unnoticed until the store is replaced.
  if (deadline !== undefined) parseDuration(deadline, 'store.deadline');
  if (url === 'memory') {
    if (leases !== undefined)
      throw new UsageError(
        'leases need a store that several servers can share, such as redis://; got memory',
      );
    const store = memory({ maxKeys });
    return {
      store,
      name: 'memory',
      keepsKeys: false,
      certificate: undefined,
      size: () => store.size,
      evictions: () => store.evictions,
    };
  }
  const events = { onError: options.onError ?? (() => {}), onConnection };
  const [client, close] = await clientOf(url, certificates, events).catch((error: unknown) => {
    // Errors from URL and decodeURIComponent become a UsageError, because the CLI would otherwise print a stack trace instead of
    // a hint.
    const isMalformed = error instanceof URIError || (error as { code?: unknown }).code === 'ERR_INVALID_URL';
    if (!isMalformed) throw error;
    throw new UsageError(
      `--store is not a valid URL: ${withoutPassword(url)}. In a password, write % as %25, / as %2F, ? as %3F and @ as %40`,
    );
  });
  const guards = {
    deadline,
    onFailure: {
      byName: (name: string) => onFailureOf(name.slice(keyPrefix.length)) ?? options.onFailure ?? 'local',
    },
    denyCache: options.denyCache,
    onEvent: options.onEvent,
  };
  try {
    const direct = closing(await storeOn(url, client, guards), close);
    const shared = leases === undefined ? direct : leased(direct, { nodes: leases.nodes });
    const store = prefixedStore(shared, keyPrefix);
    return {
      store,
      name: withoutPassword(url),
      keepsKeys: true,
      certificate: certificates.cert,
      size: undefined,
      evictions: undefined,
    };
  } catch (error) {
    // A client that stays open would keep the process alive.
    await close();
    throw error;
  }
}

type Guards = Pick<StoreOptions, 'deadline' | 'denyCache' | 'onEvent'> & Pick<ResilientOptions, 'onFailure'>;

async function storeOn(url: string, client: object, guards: Guards): Promise<Store<Promise<Decision>>> {
  if (!isPostgres(url)) return redis(client as RedisClient, guards);
  const { migration, postgres } = await import('sluice/postgres');
  await (client as { query(text: string): Promise<unknown> }).query(migration());
  return postgres(client, guards);
}

/**
 * Returns a store that also closes its client. Stores do not close a client that they were given, but this client was created
 * only for the store.
 */
function closing(
  store: Store<Promise<Decision>>,
  close: () => MaybePromise<unknown>,
): Store<Promise<Decision>> {
  return {
    ...store,
    backend: store.backend ?? store,
    async close() {
      await store.close();
      await close();
    },
  };
}

function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

interface ClientEvents {
  readonly onError: (error: Error) => void;
  readonly onConnection: (isConnected: boolean) => void;
}

type Client = readonly [client: object, close: () => MaybePromise<unknown>];

async function clientOf(
  url: string,
  certificates: SecureContextOptions,
  events: ClientEvents,
): Promise<Client> {
  checkStoreUrl(url);
  if (isPostgres(url)) return postgresClient(url, events);
  const { Redis, Cluster } = await loadOptional('this store', 'ioredis', () => import('ioredis'));
  if (/^rediss?:\/\//.test(url)) {
    // Without `tls`, ioredis takes the use of TLS from the URL.
    return observed(new Redis(url, url.startsWith('rediss:') ? { tls: certificates } : {}), events);
  }
  const [, secure, kind, user, nodes] = MANY.exec(url) ?? [];
  if (nodes === undefined || (kind === 'sentinel' && user === undefined))
    throw new UsageError(
      `--store must be memory, redis://host:port, rediss://…, redis+cluster://host:port,host:port, redis+sentinel://name@host:port,host:port or postgres://…; got ${withoutPassword(url)}`,
    );
  const hosts = nodes.split(',').map(hostOf);
  // Split only at the first colon, because a password may contain colons.
  const [name = '', password] = (user ?? '').split(/:(.*)/s, 2).map(decodeURIComponent);
  const tls = secure === undefined ? {} : { tls: certificates };
  const client =
    kind === 'cluster'
      ? new Cluster(hosts, {
          redisOptions: { ...tls, ...(user !== undefined && { username: name, password: password ?? '' }) },
        })
      : new Redis({
          ...tls,
          // Without these two options, ioredis connects to the sentinels and the master in plain text, even if `tls` is set.
          ...(secure !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: certificates }),
          sentinels: hosts,
          name,
          ...(password !== undefined && { password }),
        });
  return observed(client, events);
}

function observed(client: Redis | Cluster, { onError, onConnection }: ClientEvents): Client {
  client.on('error', onError);
  onConnection(false);
  client.once('ready', () => onConnection(true));
  return [client, () => client.disconnect()];
}

/** Matches redis+cluster://user:password@a:1,b:2 and redis+sentinel://master:password@a:1,b:2, or rediss+… for TLS. */
const MANY = /^redis(s)?\+(cluster|sentinel):\/\/(?:([^@/]*)@)?([\w.:,[\]-]+)\/?$/;

function hostOf(text: string): { host: string; port: number } {
  const { hostname, port } = new URL(`redis://${text}`);
  if (hostname === '') throw new UsageError('--store must not have an empty host between the commas');
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 6379 };
}

async function postgresClient(url: string, { onError }: ClientEvents): Promise<Client> {
  const { default: pg } = await loadOptional('this store', 'pg', () => import('pg'));
  // `query_timeout` makes a query fail if its connection hangs.
  const pool = new pg.Pool({ connectionString: url, max: 10, query_timeout: 5000 });
  pool.on('error', onError);
  return [pool, () => pool.end()];
}

function withoutPassword(url: string): string {
  // Matches up to the last @, in case the password contains an unescaped @.
  return url.replace(/^([\w+]+:\/\/[^:]*):.*@/s, '$1:***@');
}
