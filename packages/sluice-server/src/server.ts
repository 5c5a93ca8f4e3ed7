/** Starts and drains a server, which consists of a configuration, a store, a core and listeners. */
import type { Millis } from 'sluice';
import type { TrustProxy } from 'sluice/http';
import { LISTENERS, openListener } from './listeners/open-listener.ts';
import { type ConfigFile, parseConfig, readFiles } from './config/config.ts';
import type { Config, FailureAnswer } from './config/model.ts';
import { createCore, type Core, type CoreOptions } from './core/core.ts';
import { type Address, type Listener, isLoopback, type Tls, showAddress } from './listeners/listener.ts';
import type { GivenToken } from './listeners/grants.ts';
import { checkHeaderName } from './listeners/http/forward-auth.ts';
import { createLive } from './listeners/http/live.ts';
import { liveConfig } from './listeners/http/live-config.ts';
import { openProbes, type ProbeListener, type Readiness } from './listeners/http/probes.ts';
import { createRequestLog } from './listeners/request-log.ts';
import { type Log, oncePerSecond } from './log.ts';
import { labelsOf } from './config/labels.ts';
import { createStoreCheck } from './core/store-check.ts';
import { trackStore } from './telemetry/store-state.ts';
import { factFamilies } from './telemetry/metrics/facts.ts';
import { measureProcess } from './telemetry/metrics/process.ts';
import { createMetrics, type Metrics, type MetricsOptions } from './telemetry/metrics/metrics.ts';
import { createHistory } from './telemetry/metrics/history.ts';
import type { OtlpOptions } from './telemetry/metrics/otlp.ts';
import { createReloader, sizes } from './config/reload.ts';
import { openStore, type StoreOptions } from './store.ts';
import { UsageError } from './config/usage-error.ts';
import { openTelemetry, type Telemetry, type TracesOptions } from './telemetry/telemetry.ts';
import { createTlsReloader, pathsOf, readTls, type TlsFiles } from './listeners/tls.ts';
import { watchPaths } from './config/watch.ts';

/** The protocol that a listener speaks. */
export type ListenerName = 'http' | 'grpc' | 'resp';

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
  /**
   * Address of a plain HTTP listener for /livez, /readyz and /metrics, which requires neither TLS nor a token. Default: there is no
   * such listener.
   */
  readonly probe?: Address | undefined;
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
  /** Maximum number of denials to log per second, with hashed keys. Default 0, which logs none. */
  readonly logDenials?: number | undefined;
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
  /** The address of the probe listener. Undefined if there is none. */
  readonly probeAddress: Address | undefined;
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
  const config = parseConfig(files, { mergeDomains: options.mergeDomains });
  const tls = options.tls && readTls(options.tls);
  const telemetry = await openTelemetry(options);
  const metrics = createMetrics(options.metrics);
  metrics.declare(labelsOf(config));
  const measured = measureProcess();
  metrics.add(() => measured.families());
  const readiness: Readiness = { isHealthy: false, isStoreReady: async () => false };
  let probes: ProbeListener | undefined;
  const closeObservers = async (): Promise<void> => {
    measured.close();
    await probes?.close();
  };
  try {
    // The probe listener opens first, so that probes also work while the server waits for its store.
    probes = options.probe && (await openProbes({ address: options.probe, readiness, metrics, log }));
    const server = await serveConfig({ options, files, config, tls, telemetry, metrics, readiness });
    const { drain } = server;
    let draining: Promise<void> | undefined;
    return {
      ...server,
      probeAddress: probes?.address,
      // The probe listener closes last, so that /readyz answers during the whole drain.
      drain: ({ delay = 0, timeout = 10_000 } = {}) =>
        (draining ??= drain({ delay, timeout }).then(closeObservers)),
    };
  } catch (error) {
    await closeObservers();
    throw error;
  }
}

/** What `startServer` has prepared before it connects to the store. */
interface Preparation {
  readonly options: ServerOptions;
  readonly files: readonly ConfigFile[];
  readonly config: Config;
  readonly tls: Tls | undefined;
  readonly telemetry: Telemetry;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
}

/** Connects to the store and opens the listeners. */
async function serveConfig(prepared: Preparation): Promise<Omit<RunningServer, 'probeAddress'>> {
  const { options, files, config, telemetry, metrics, readiness } = prepared;
  const { log, mergeDomains } = options;
  let { tls } = prepared;
  const onFailureOf = (limit: string): FailureAnswer | undefined => core.config.limits.get(limit)?.onFailure;
  const state = trackStore(metrics, log, (limit) => onFailureOf(limit) ?? options.store.onFailure ?? 'local');
  const opened = await openStore(
    {
      ...options.store,
      onEvent(event) {
        state.onEvent(event);
        options.store.onEvent?.(event);
      },
      onError: oncePerSecond((error) => log.warn('connection to the store failed', { error: error.message })),
    },
    { onConnection: (isConnected) => state.onConnection(isConnected), onFailureOf },
  );
  const { shadow = false, maxCost, requestPolicies } = options;
  const { store, keepsKeys } = opened;
  const { fallback } = state;
  const core = await openCore(config, {
    store,
    keepsKeys,
    metrics,
    fallback,
    shadow,
    maxCost,
    requestPolicies,
  });
  readiness.isStoreReady = createStoreCheck(core.store);

  const onChange = (): void => {
    metrics.declare(labelsOf(core.config));
    live.configChanged();
  };
  const reloader = createReloader(core, options.config, log, files, onChange, { mergeDomains });
  const connections = new Map<ListenerName, number>();
  metrics.add(() =>
    factFamilies({
      store: opened.name,
      isShadow: shadow,
      hash: reloader.loaded.hash,
      connections,
      certificates: new Map(
        tls === undefined ? [] : [...listeners.keys()].map((name) => [name, String(tls?.cert)]),
      ),
      keys: opened.size?.(),
      evictions: opened.evictions?.(),
    }),
  );
  log.info('configuration loaded', { ...sizes(config), hash: reloader.loaded.hash, store: opened.name });
  if (shadow)
    log.warn(
      'shadow mode: the server counts denials but denies no request; remove --shadow to enforce limits',
    );
  const history = createHistory({ metrics });
  const live = createLive({
    metrics,
    history,
    storeKind: /^\w+/.exec(opened.name)?.[0].replace(/^rediss$/, 'redis') ?? '',
    config: () =>
      liveConfig(core.config, {
        loaded: reloader.loaded,
        source: options.config.join(', '),
        isShadow: shadow,
      }),
  });

  const requestLog = createRequestLog(log, options.logDenials);
  const listeners = new Map<ListenerName, Listener>();
  try {
    for (const name of Object.keys(LISTENERS) as ListenerName[]) {
      const given = options.listeners[name];
      if (given === undefined) continue;
      connections.set(name, 0);
      const own = {
        ...given,
        tls,
        live,
        tracer: telemetry.tracer,
        requestLog,
        isHealthy: () => readiness.isHealthy,
        onConnection: (change: number) => void connections.set(name, (connections.get(name) ?? 0) + change),
      };
      listeners.set(name, await openListener(name, core, options, own));
    }
    readiness.isHealthy = true;
  } catch (error) {
    live.close();
    history.close();
    await Promise.all([...listeners.values()].map((listener) => listener.drain(0)));
    await core.close();
    throw error;
  }

  const checkTls =
    options.tls && tls
      ? createTlsReloader(options.tls, tls, log, (next) => {
          tls = next;
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
  async function drain({ delay = 0, timeout = 0 }: DrainOptions = {}): Promise<void> {
    readiness.isHealthy = false;
    log.info('draining', { delay, timeout });
    unwatch();
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    live.close();
    history.close();
    await Promise.all([...listeners.values()].map((listener) => listener.drain(timeout)));
    await core.close();
    await Promise.all([endPush(), telemetry.endSpans()]);
    log.info('drained');
  }

  return {
    core,
    addresses: Object.fromEntries([...listeners].map(([name, { address }]) => [name, address])),
    reload: () => checkFiles(true),
    drain,
  };
}

/** Closes the store if the core cannot be created, because the store's client would keep the process alive. */
async function openCore(config: Config, options: CoreOptions): Promise<Core> {
  try {
    return createCore(config, options);
  } catch (error) {
    await options.store.close();
    throw error;
  }
}
