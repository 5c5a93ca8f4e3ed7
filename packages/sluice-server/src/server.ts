/** Starts and drains a server, which consists of a configuration, a store, a core and listeners. */
import type { Millis } from 'sluice';
import type { TrustProxy } from 'sluice/http';
import type { Family } from 'sluice/prometheus';
import { createAttempts } from './listeners/auth-attempts.ts';
import { parseConfig, readFiles } from './config/config.ts';
import type { Config } from './config/model.ts';
import { createCore, type Core } from './core/core.ts';
import {
  type Address,
  type Listener,
  type ListenerOptions,
  isLoopback,
  type OpenListener,
  showAddress,
} from './listeners/listener.ts';
import { openResp } from './listeners/resp/resp.ts';
import type { GivenToken } from './listeners/grants.ts';
import { checkHeaderName } from './listeners/http/forward-auth.ts';
import { openHttp } from './listeners/http/http.ts';
import { createLive } from './listeners/http/live.ts';
import { liveConfig } from './listeners/http/live-config.ts';
import { type Log, oncePerSecond } from './log.ts';
import { createMetrics, family, type Metrics, type MetricsOptions } from './telemetry/metrics/metrics.ts';
import type { OtlpOptions } from './telemetry/metrics/otlp.ts';
import { createReloader, sizes } from './config/reload.ts';
import { type OpenedStore, openStore, type StoreOptions } from './store.ts';
import { UsageError } from './config/usage-error.ts';
import { openTelemetry, type TracesOptions } from './telemetry/telemetry.ts';
import { createTlsReloader, pathsOf, readTls, type TlsFiles } from './listeners/tls.ts';
import { VERSION } from './version.ts';
import { watchPaths } from './config/watch.ts';

/** The protocol that a listener speaks. */
export type ListenerName = 'http' | 'grpc' | 'resp';

/** The function that opens the listener of each protocol. */
const LISTENERS: Readonly<Record<ListenerName, OpenListener>> = {
  http: openHttp,
  // Imported on demand, because the gRPC library is large.
  grpc: async (core, options) => (await import('./listeners/grpc/grpc.ts')).openGrpc(core, options),
  resp: openResp,
};

/** Where to open a listener, and which tokens its clients need. */
export interface ServerListener {
  /** Address of the listener. Port 0 picks a free port. */
  readonly address: Address;
  /**
   * Returns the accepted tokens. Every client must send one of them. It is a function because token files may change. Undefined
   * if no token is required.
   */
  readonly tokens?: (() => readonly GivenToken[]) | undefined;
}

export interface ServerOptions {
  /** YAML files, or folders that contain YAML files. */
  readonly config: readonly string[];
  /** Whether several files may define the same domain, whose descriptors are then merged. Default false. */
  readonly mergeDomains?: boolean | undefined;
  /** Where the state of the limits is kept. */
  readonly store: StoreOptions;
  /** The listeners to open. */
  readonly listeners: Readonly<Partial<Record<ListenerName, ServerListener>>>;
  /** TLS certificates for all listeners. They are reloaded when the files change. */
  readonly tls?: TlsFiles | undefined;
  /**
   * Returns the tokens that may reset and block keys. Every listener that requires a token also accepts them for all other
   * requests.
   */
  readonly adminTokens?: (() => readonly GivenToken[]) | undefined;
  /**
   * HTTP and RESP only. Whether requests from this machine may reset and block keys if no token is configured. The listener must
   * be on a loopback address. Default false.
   */
  readonly adminWithoutToken?: boolean | undefined;
  /**
   * HTTP only. The proxies to trust for the client's address, in the forms that `clientAddress` accepts. Attempts with wrong
   * tokens are limited per client address. Default false.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** Maximum number of open connections per listener. Further connections are refused. Default 10,000. */
  readonly maxConnections?: number | undefined;
  /** RESP and gRPC connections are closed after this long without a request. 0 means never. Default 10 minutes. */
  readonly idleTimeout?: Millis | undefined;
  /**
   * HTTP only. Whether to accept hits from the library's store `remote`, at /v1/hits. Clients of this route need permission to
   * reset and block keys. Default false.
   */
  readonly remote?: boolean | undefined;
  /**
   * HTTP only. Name of the header that contains the key of a request to /v1/forward-auth, such as 'X-Real-IP'. The proxy must
   * overwrite this header. Default: the key must be in the query.
   */
  readonly keyHeader?: string | undefined;
  /**
   * HTTP only. Name of the header that contains the name of the limit for a request to /v1/forward-auth. The proxy must overwrite
   * this header. Default: the name must be in the query.
   */
  readonly limitHeader?: string | undefined;
  /**
   * HTTP connections are closed after this long without a request. Behind a load balancer, it must be longer than the load
   * balancer's own timeout. 0 means never. Default 60 s.
   */
  readonly keepAlive?: Millis | undefined;
  /** HTTP only. Folder of the built playground page. Default: the page that ships with the server. 'none' serves no page. */
  readonly page?: string | undefined;
  /** Maximum size of a request, in bytes. Default 1 MiB. */
  readonly maxMessage?: number | undefined;
  /** Maximum length of a key, in bytes of UTF-8. Default 1024. */
  readonly maxKey?: number | undefined;
  /**
   * The maximum number of units that one call may charge or give back, for each policy. Default: the policy's limit.
   */
  readonly maxCost?: number | undefined;
  /**
   * Maximum number of different policies that requests may contain at the same time, as in `"policies": "10/s burst 20"`. Default
   * 0, which allows none.
   */
  readonly requestPolicies?: number | undefined;
  /** Whether to evaluate and count all limits as usual, but never deny a request. Default false. */
  readonly shadow?: boolean | undefined;
  /** Which details the metrics contain. */
  readonly metrics?: MetricsOptions | undefined;
  /** The OpenTelemetry collector to push metrics to. Default: metrics are only available at /metrics. */
  readonly otlp?: OtlpOptions | undefined;
  /** The OpenTelemetry collector to push spans of sampled requests to. Default: no spans are recorded. */
  readonly traces?: TracesOptions | undefined;
  /** Whether to reload the files when they change. Default true. */
  readonly watch?: boolean | undefined;
  /** The log to write to. Created by `createLog`. */
  readonly log: Log;
}

/** A server that is accepting connections. */
export interface RunningServer {
  /** The server's core, which can check the same limits without a network connection. */
  readonly core: Core;
  /** The address of each listener, with the actual port if port 0 was requested. */
  readonly addresses: Readonly<Partial<Record<ListenerName, Address>>>;
  /** Reloads the configuration and the certificates. Resolves when they are in use or were found to be invalid. Never rejects. */
  reload(): Promise<void>;
  /**
   * Shuts down gracefully: fails health checks, waits for `delay`, stops accepting connections, answers requests in progress,
   * gives leased units back and closes the store. Connections still open after `timeout` are closed.
   */
  drain(options?: DrainOptions): Promise<void>;
}

export interface DrainOptions {
  /** How long to keep accepting connections while health checks fail, so that load balancers can react. Default 0. */
  readonly delay?: Millis;
  /** Connections that are still open after this long are closed. Default 10 s. */
  readonly timeout?: Millis;
}

/** Loads the configuration, connects to the store and opens the listeners. Rejects if any of these fails. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log } = options;
  for (const name of Object.keys(options.listeners))
    if (!Object.hasOwn(LISTENERS, name))
      throw new UsageError(`unknown listener '${name}'; must be one of ${Object.keys(LISTENERS).join(', ')}`);
  const { http } = options.listeners;
  if (options.adminWithoutToken === true && http !== undefined && !isLoopback(http.address))
    throw new UsageError(
      `--allow-admin-without-token needs an HTTP listener on a loopback address; got ${showAddress(http.address)}`,
    );
  checkHeaderName('key-header', options.keyHeader);
  checkHeaderName('limit-header', options.limitHeader);
  const files = readFiles(options.config);
  const { mergeDomains } = options;
  const config = parseConfig(files, { mergeDomains });
  const tls = options.tls && readTls(options.tls);
  const telemetry = await openTelemetry(options);
  const metrics = createMetrics(options.metrics);
  /** Nodes whose circuit breaker is open. On a cluster, each node has its own breaker. */
  const openBreakers = new Set<string | undefined>();
  /**
   * False while a Redis client establishes its first connection. A failure after that first connection opens a breaker instead.
   */
  let isConnected = true;
  const updateStoreUp = (): void => metrics.storeUp(isConnected && openBreakers.size === 0);
  const opened = await openStore(
    {
      ...options.store,
      onEvent(event) {
        const { type, node } = event;
        if (type === 'open') openBreakers.add(node);
        else openBreakers.delete(node);
        // A breaker closes only after the store has answered, which proves that the client is connected. The answer may have
        // arrived on another connection than the client's first one.
        isConnected ||= type === 'close';
        updateStoreUp();
        const where = node === undefined ? {} : { node };
        if (type === 'open') log.error('the store is not responding', { fault: event.fault, ...where });
        else log.info('the store is responding again', { after: Math.round(event.openFor), ...where });
        options.store.onEvent?.(event);
      },
      onError: oncePerSecond((error) => log.warn('connection to the store failed', { error: error.message })),
    },
    {
      onConnection(connected) {
        isConnected = connected;
        updateStoreUp();
      },
      onFailureOf: (limit) => core.config.limits.get(limit)?.onFailure,
    },
  );
  const core = await openCore(config, opened, metrics, options);

  const reloader = createReloader(core, options.config, log, files, () => live.configChanged(), {
    mergeDomains,
  });
  metrics.add(() => facts(opened, reloader.loaded.hash));
  log.info('configuration loaded', { ...sizes(config), hash: reloader.loaded.hash, store: opened.name });
  const live = createLive({
    metrics,
    storeKind: /^\w+/.exec(opened.name)?.[0].replace(/^rediss$/, 'redis') ?? '',
    config: () => liveConfig(core.config, reloader.loaded, options.config.join(', ')),
  });

  let isHealthy = false;
  const listeners = new Map<ListenerName, Listener>();
  try {
    for (const name of Object.keys(LISTENERS) as ListenerName[]) {
      const given = options.listeners[name];
      if (given === undefined) continue;
      const own = { ...given, tls, live, tracer: telemetry.tracer, isHealthy: () => isHealthy };
      listeners.set(name, await openListener(name, core, options, own));
    }
    isHealthy = true;
  } catch (error) {
    live.close();
    await Promise.all([...listeners.values()].map((listener) => listener.drain(0)));
    await core.close();
    throw error;
  }

  const checkTls =
    options.tls && tls
      ? createTlsReloader(options.tls, tls, log, (next) => {
          for (const listener of listeners.values()) listener.secure(next);
        })
      : () => {};
  const checkFiles = (always = false): Promise<void> => {
    checkTls();
    return reloader.check(always);
  };
  const paths = [...options.config, ...(options.tls ? pathsOf(options.tls) : [])];
  const unwatch = options.watch === false ? () => {} : watchPaths(paths, () => void checkFiles());
  const endPush = telemetry.pushMetrics(() => metrics.families());
  let draining: Promise<void> | undefined;

  async function drain(delay: number, timeout: number): Promise<void> {
    isHealthy = false;
    log.info('draining', { delay, timeout });
    unwatch();
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    live.close();
    await Promise.all([...listeners.values()].map((listener) => listener.drain(timeout)));
    await core.close();
    await Promise.all([endPush(), telemetry.endSpans()]);
    log.info('drained');
  }

  return {
    core,
    addresses: Object.fromEntries([...listeners].map(([name, { address }]) => [name, address])),
    reload: () => checkFiles(true),
    drain: ({ delay = 0, timeout = 10_000 } = {}) => (draining ??= drain(delay, timeout)),
  };
}

/** Closes the store if the core cannot be created, because the store's client would keep the process alive. */
async function openCore(
  config: Config,
  { store, keepsKeys }: OpenedStore,
  metrics: Metrics,
  { shadow, maxCost, requestPolicies }: ServerOptions,
): Promise<Core> {
  try {
    return createCore(config, { store, keepsKeys, metrics, shadow, maxCost, requestPolicies });
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openListener(
  name: ListenerName,
  core: Core,
  options: ServerOptions,
  own: Pick<ListenerOptions, 'address' | 'tokens' | 'tls' | 'live' | 'tracer' | 'isHealthy'>,
): Promise<Listener> {
  const { log, adminTokens, page, maxMessage = 1024 * 1024, maxKey = 1024 } = options;
  const { adminWithoutToken, maxConnections, idleTimeout, keepAlive, remote, trustProxy } = options;
  const { keyHeader, limitHeader } = options;
  const { tls, tokens } = own;
  const bounds = { maxMessage, maxKey, maxConnections, idleTimeout, keepAlive };
  // Each listener counts attempts separately, because guessing the tokens of one listener must not lock clients out of another.
  const attempts = createAttempts(trustProxy);
  const listener = await LISTENERS[name](core, {
    ...own,
    ...bounds,
    adminTokens,
    adminWithoutToken,
    attempts,
    remote,
    keyHeader,
    limitHeader,
    page,
    log,
  });
  const address = showAddress(listener.address);
  log.info('listening', {
    listener: name,
    address,
    tls: tls !== undefined,
    // The log line contains a URL that terminals make clickable.
    ...(name === 'http' && page !== 'none' && { page: `http${tls === undefined ? '' : 's'}://${address}/` }),
  });
  if (!isLoopback(listener.address) && tokens === undefined && tls?.ca === undefined)
    log.warn('anyone who can reach this address can use up limits; configure a token', {
      listener: name,
      address,
    });
  return listener;
}

function facts({ size, name }: OpenedStore, hash: string): Family[] {
  const version = [{ labels: { version: VERSION, store: name }, value: 1 }];
  const info = family('sluice.build_info', 'gauge', 'Version and store of the running server.', version);
  const configInfo = family(
    'sluice.config.info',
    'gauge',
    'Hash of the configuration in use. Servers that share a store should have the same hash.',
    [{ labels: { hash }, value: 1 }],
  );
  return size === undefined
    ? [info, configInfo]
    : [info, configInfo, family('sluice.store.keys', 'gauge', 'Keys in the memory store.', size())];
}
