/** Where the limits' state lives, by a URL. Clients are loaded when they are needed: both are optional. */
import { leased, memory, type Decision, type MaybePromise, type Store } from 'sluice';
import { type BreakerEvent, redis, type RedisClient } from 'sluice/redis';
import { UsageError } from './config/usage-error.ts';
import { loadOptional } from './core/load-optional.ts';

/** Where the limits' state lives, and what is said when it cannot be asked. */
export interface StoreOptions {
  /** memory, redis://, rediss://, redis+cluster://, redis+sentinel://, postgres://. */
  readonly url: string;
  /** In memory: keys per limit; default 1,000,000. */
  readonly maxKeys?: number | undefined;
  /** How long a check may take, as a duration. */
  readonly deadline?: string | undefined;
  /** Who decides when the store cannot be asked; default 'local': this server alone, by the same limits. */
  readonly onFailure?: 'local' | 'throw' | 'allow' | 'deny' | undefined;
  /** Remember denials in this process until they end; default false. */
  readonly denyCache?: boolean | undefined;
  /** Strict leases; about how many servers share the store. */
  readonly leases?: { readonly nodes: number } | undefined;
  /** Called when the breaker opens and when it closes. */
  readonly onEvent?: ((event: BreakerEvent) => void) | undefined;
  /** The client lost its connection, or could not make one. */
  readonly onError?: ((error: Error) => void) | undefined;
}

export interface OpenedStore {
  readonly store: Store;
  /** Without a password. */
  readonly name: string;
  /** Whether it remembers keys as text. */
  readonly keepsKeys: boolean;
  /** Keys now, where they can be counted. */
  readonly size: (() => number) | undefined;
}

export async function openStore(options: StoreOptions): Promise<OpenedStore> {
  const { url, maxKeys, leases } = options;
  if (url === 'memory') {
    if (leases !== undefined)
      throw new UsageError('leases need a store that servers share, such as redis://');
    const store = memory({ maxKeys });
    return { store, name: 'memory', keepsKeys: false, size: () => store.size };
  }
  const [client, close] = await clientOf(url, options.onError ?? (() => {})).catch((error: unknown) => {
    // As URL and decodeURIComponent say it, which would show a stack and not what to do.
    const isMalformed = error instanceof URIError || (error as { code?: unknown }).code === 'ERR_INVALID_URL';
    if (!isMalformed) throw error;
    throw new UsageError(
      `--store cannot be read; in a password, % is written %25, / is %2F and @ is %40; got ${withoutPassword(url)}`,
    );
  });
  const guards = {
    deadline: options.deadline,
    onFailure: options.onFailure,
    denyCache: options.denyCache,
    onEvent: options.onEvent,
  };
  const direct = closing(await storeOn(url, client, guards), close);
  const store = leases === undefined ? direct : leased(direct, { nodes: leases.nodes });
  return { store, name: withoutPassword(url), keepsKeys: true, size: undefined };
}

type Guards = Pick<StoreOptions, 'deadline' | 'onFailure' | 'denyCache' | 'onEvent'>;

async function storeOn(url: string, client: object, guards: Guards): Promise<Store<Promise<Decision>>> {
  if (!isPostgres(url)) return redis(client as RedisClient, guards);
  const { migration, postgres } = await import('sluice/postgres');
  await (client as { query(text: string): Promise<unknown> }).query(migration());
  return postgres(client, guards);
}

/** A store never closes a client that it was given; this one was made for it. */
function closing(
  store: Store<Promise<Decision>>,
  close: () => MaybePromise<unknown>,
): Store<Promise<Decision>> {
  return {
    clock: store.clock,
    backend: store.backend ?? store,
    apply: (hit) => store.apply(hit),
    async close() {
      await store.close();
      await close();
    },
  };
}

function isPostgres(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url);
}

type Client = readonly [client: object, close: () => MaybePromise<unknown>];

async function clientOf(url: string, onError: (error: Error) => void): Promise<Client> {
  if (isPostgres(url)) return postgresClient(url, onError);
  const { Redis, Cluster } = await loadOptional('this store', 'ioredis', () => import('ioredis'));
  if (/^rediss?:\/\//.test(url)) {
    const client = new Redis(url);
    client.on('error', onError);
    return [client, () => client.disconnect()];
  }
  const [, secure, kind, user, nodes] = MANY.exec(url) ?? [];
  if (nodes === undefined || (kind === 'sentinel' && user === undefined))
    throw new UsageError(
      `--store must be memory, redis://host:port, rediss://…, redis+cluster://host:port,host:port, redis+sentinel://name@host:port,host:port or postgres://…; got ${withoutPassword(url)}`,
    );
  const hosts = nodes.split(',').map(hostOf);
  // Up to the first colon: a password may hold more of them.
  const [name = '', password] = (user ?? '').split(/:(.*)/s, 2).map(decodeURIComponent);
  const tls = secure === undefined ? {} : { tls: {} };
  const client =
    kind === 'cluster'
      ? new Cluster(hosts, {
          redisOptions: { ...tls, ...(user !== undefined && { username: name, password: password ?? '' }) },
        })
      : new Redis({
          ...tls,
          // Without these it speaks plain text to both, whatever `tls` says.
          ...(secure !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
          sentinels: hosts,
          name,
          ...(password !== undefined && { password }),
        });
  client.on('error', onError);
  return [client, () => client.disconnect()];
}

/** redis+cluster://user:password@a:1,b:2 and redis+sentinel://master:password@a:1,b:2; rediss+… with TLS. */
const MANY = /^redis(s)?\+(cluster|sentinel):\/\/(?:([^@/]*)@)?([\w.:,[\]-]+)\/?$/;

function hostOf(text: string): { host: string; port: number } {
  const { hostname, port } = new URL(`redis://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 6379 };
}

async function postgresClient(url: string, onError: (error: Error) => void): Promise<Client> {
  const { default: pg } = await loadOptional('this store', 'pg', () => import('pg'));
  // A connection that hangs is given up then.
  const pool = new pg.Pool({ connectionString: url, max: 10, query_timeout: 5000 });
  pool.on('error', onError);
  return [pool, () => pool.end()];
}

function withoutPassword(url: string): string {
  // Up to the last @: a password may hold what it should not.
  return url.replace(/^([\w+]+:\/\/[^:]*):.*@/s, '$1:***@');
}
