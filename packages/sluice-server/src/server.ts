/** Starts and drains a server, which consists of a configuration, a store, a core and listeners. */
import { LISTENERS, openListener } from './listeners/open-listener.ts';
import { type ConfigFile, parseConfig, readFiles } from './config/config.ts';
import type { Config, FailureAnswer } from './config/model.ts';
import { CELL, createCore, type Core, type CoreOptions } from './core/core.ts';
import { type Listener, isLoopback, type Tls, showAddress } from './listeners/listener.ts';
import { checkHeaderName } from './listeners/http/forward-auth.ts';
import { createLive } from './listeners/http/live.ts';
import { liveConfig } from './listeners/http/live-config.ts';
import { openProbes, type ProbeListener } from './listeners/http/probes.ts';
import { createRequestLog } from './listeners/request-log.ts';
import { oncePerSecond } from './log.ts';
import { labelsOf } from './config/labels.ts';
import { REQUEST_POLICIES } from './core/request-policies.ts';
import { createStoreCheck } from './core/store-check.ts';
import { trackStore } from './telemetry/store-state.ts';
import { factFamilies } from './telemetry/metrics/facts.ts';
import { measureProcess } from './telemetry/metrics/process.ts';
import { createMetrics, type Metrics } from './telemetry/metrics/metrics.ts';
import { createHistory } from './telemetry/metrics/history.ts';
import { createReloader, sizes } from './config/reload.ts';
import type { DrainOptions, ListenerName, RunningServer, ServerOptions } from './server-options.ts';
import { openStore } from './store.ts';
import { UsageError } from './config/usage-error.ts';
import { openTelemetry, type Telemetry } from './telemetry/telemetry.ts';
import { createTlsReloader, pathsOf, readTls } from './listeners/tls.ts';
import { watchPaths } from './config/watch.ts';

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
  metrics.declare([
    ...(options.listeners.resp === undefined ? [] : [CELL]),
    ...((options.requestPolicies ?? 0) > 0 ? [REQUEST_POLICIES] : []),
    ...labelsOf(config),
  ]);
  const measured = measureProcess();
  metrics.add(() => measured.families());
  const readiness: Preparation['readiness'] = { isHealthy: false, isStoreReady: async () => false };
  let probes: ProbeListener | undefined;
  const closeObservers = async (): Promise<void> => {
    measured.close();
    await probes?.close();
  };
  try {
    // The probe listener opens first, so that probes also work while the server waits for its store.
    probes =
      options.probe &&
      (await openProbes({
        address: options.probe,
        readiness: { isHealthy: () => readiness.isHealthy, isStoreReady: () => readiness.isStoreReady() },
        metrics,
        showsKeys: (options.metrics?.topKeys ?? 0) > 0,
        log,
      }));
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
  /** What health checks and probes report. */
  readonly readiness: {
    /** Whether all listeners accept connections, and the server is not draining. */
    isHealthy: boolean;
    isStoreReady: () => Promise<boolean>;
  };
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
      certificates: new Map([
        ...(tls === undefined ? [] : [...listeners.keys()].map((name) => [name, String(tls?.cert)] as const)),
        ...(opened.certificate === undefined ? [] : [['store', opened.certificate] as const]),
      ]),
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
        isStoreReady: () => readiness.isStoreReady(),
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
