/** The whole of it: configuration, store, core, listeners; opened together, drained together. */
import type { Millis } from 'sluice';
import type { TrustProxy } from 'sluice/http';
import type { Family } from 'sluice/prometheus';
import { createAttempts } from './listeners/auth-attempts.ts';
import { parseConfig, readFiles } from './config/config.ts';
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
import { openHttp } from './listeners/http/http.ts';
import { createLive } from './listeners/http/live.ts';
import { liveConfig } from './listeners/http/live-config.ts';
import { type Log, oncePerSecond } from './log.ts';
import { createMetrics, family, type MetricsOptions } from './telemetry/metrics/metrics.ts';
import type { OtlpOptions } from './telemetry/metrics/otlp.ts';
import { createReloader, sizes } from './config/reload.ts';
import { type OpenedStore, openStore, type StoreOptions } from './store.ts';
import { UsageError } from './config/usage-error.ts';
import { openTelemetry, type TracesOptions } from './telemetry/telemetry.ts';
import { createTlsReloader, pathsOf, readTls, type TlsFiles } from './listeners/tls.ts';
import { VERSION } from './version.ts';
import { watchPaths } from './config/watch.ts';

/** A protocol. */
export type ListenerName = 'http' | 'grpc' | 'resp';

/** A protocol is a line here. */
const LISTENERS: Readonly<Record<ListenerName, OpenListener>> = {
  http: openHttp,
  // Not before it is asked for: the library is large.
  grpc: async (core, options) => (await import('./listeners/grpc/grpc.ts')).openGrpc(core, options),
  resp: openResp,
};

/** A listener that is to be opened. */
export interface ServerListener {
  /** Port 0: any that is free. */
  readonly address: Address;
  /** One of these must be shown; undefined: none is asked for. A function, since files of tokens change. */
  readonly tokens?: (() => readonly string[]) | undefined;
}

export interface ServerOptions {
  /** Files, or folders of them. */
  readonly config: readonly string[];
  /** Where the limits' state lives. */
  readonly store: StoreOptions;
  /** Those named here are opened. */
  readonly listeners: Readonly<Partial<Record<ListenerName, ServerListener>>>;
  /** Read again when they change. */
  readonly tls?: TlsFiles | undefined;
  /** Of the HTTP listener: one of these must be shown to reset or block a key; it opens everything else, too. */
  readonly adminTokens?: (() => readonly string[]) | undefined;
  /** Of the HTTP listener: without any token, requests that come from this machine may reset and block keys. Default false. */
  readonly adminWithoutToken?: boolean | undefined;
  /**
   * Of the HTTP listener: which proxies are believed about the address of a client, as `trustProxy` of `clientAddress`. Wrong
   * tokens are limited by that address. Default false.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** Connections that each listener holds at a time; one more is refused. Default 10,000. */
  readonly maxConnections?: number | undefined;
  /** A RESP or gRPC connection without a request for this long is closed; 0: never. Default 10 minutes. */
  readonly idleTimeout?: Millis | undefined;
  /** Of the HTTP listener: the folder of the built page; default the one that comes with the server. 'none': no page. */
  readonly page?: string | undefined;
  /** Bytes of a message; default 1 MiB. */
  readonly maxMessage?: number | undefined;
  /** Bytes of a key, in UTF-8; default 1024. */
  readonly maxKey?: number | undefined;
  /** All limits decide and count, none denies. */
  readonly shadow?: boolean | undefined;
  /** What is counted, and how much of it. */
  readonly metrics?: MetricsOptions | undefined;
  /** Also push the metrics to a collector. */
  readonly otlp?: OtlpOptions | undefined;
  /** Also push spans of requests. */
  readonly traces?: TracesOptions | undefined;
  /** Look at the files again when they change; default true. */
  readonly watch?: boolean | undefined;
  /** Where it says what it does: see `createLog`. */
  readonly log: Log;
}

/** A server whose listeners are open. */
export interface RunningServer {
  /** To ask the same limits without a listener. */
  readonly core: Core;
  /** Where each listener is, with the port that was given where 0 was asked for. */
  readonly addresses: Readonly<Partial<Record<ListenerName, Address>>>;
  /** Loads the files again, certificates too. Resolves when they are in use, or were refused; never rejects. */
  reload(): Promise<void>;
  /**
   * Says that it is unhealthy, and after `delay` lets nobody in; answers what has come, returns leases, closes the store.
   * After `timeout` ms, connections are cut off.
   */
  drain(options?: DrainOptions): Promise<void>;
}

export interface DrainOptions {
  /** So long new clients are still let in, until load balancers have noticed. Default 0. */
  readonly delay?: Millis;
  /** After so long, connections are cut off. Default 10 s. */
  readonly timeout?: Millis;
}

/** Loads the configuration, opens the store and the listeners. Rejects if any of them fails. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { log } = options;
  for (const name of Object.keys(options.listeners))
    if (!Object.hasOwn(LISTENERS, name))
      throw new UsageError(`unknown listener '${name}'; known: ${Object.keys(LISTENERS).join(', ')}`);
  const { http } = options.listeners;
  if (options.adminWithoutToken === true && http !== undefined && !isLoopback(http.address))
    throw new UsageError('--allow-admin-without-token needs an HTTP listener on a loopback address');
  const files = readFiles(options.config);
  const config = parseConfig(files);
  const tls = options.tls && readTls(options.tls);
  const telemetry = await openTelemetry(options);
  const metrics = createMetrics(options.metrics);
  /** On a cluster, each node has a breaker of its own. */
  const openBreakers = new Set<string | undefined>();
  const opened = await openStore({
    ...options.store,
    onEvent(event) {
      const { type, node } = event;
      if (type === 'open') openBreakers.add(node);
      else openBreakers.delete(node);
      metrics.breaker(openBreakers.size > 0);
      const where = node === undefined ? {} : { node };
      if (type === 'open') log.error('the store is not responding', { fault: event.fault, ...where });
      else log.info('the store is responding again', { after: Math.round(event.openFor), ...where });
      options.store.onEvent?.(event);
    },
    onError: oncePerSecond((error) => log.warn('connection to the store failed', { error: error.message })),
  });
  const core = createCore(config, {
    store: opened.store,
    keepsKeys: opened.keepsKeys,
    metrics,
    shadow: options.shadow,
  });
  metrics.add(() => facts(opened));
  log.info('configuration loaded', { ...sizes(config), store: opened.name });

  const reloader = createReloader(core, options.config, log, files, () => live.configChanged());
  const live = createLive({
    metrics,
    storeKind: /^\w+/.exec(opened.name)?.[0].replace(/^rediss$/, 'redis') ?? '',
    config: () => liveConfig(core.config, reloader.loaded, options.config.join(', ')),
  });

  let isHealthy = true;
  const listeners = new Map<ListenerName, Listener>();
  try {
    for (const name of Object.keys(LISTENERS) as ListenerName[]) {
      const given = options.listeners[name];
      if (given === undefined) continue;
      const own = { ...given, tls, live, tracer: telemetry.tracer, isHealthy: () => isHealthy };
      listeners.set(name, await openListener(name, core, options, own));
    }
  } catch (error) {
    await Promise.all([...listeners.values()].map((listener) => listener.drain(0)));
    await core.close();
    throw error;
  }

  const lookAtTls =
    options.tls && tls
      ? createTlsReloader(options.tls, tls, log, (next) => {
          for (const listener of listeners.values()) listener.secure(next);
        })
      : () => {};
  const look = (always = false): Promise<void> => {
    lookAtTls();
    return reloader.look(always);
  };
  const paths = [...options.config, ...(options.tls ? pathsOf(options.tls) : [])];
  const unwatch = options.watch === false ? () => {} : watchPaths(paths, () => void look());
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
    reload: () => look(true),
    drain: ({ delay = 0, timeout = 10_000 } = {}) => (draining ??= drain(delay, timeout)),
  };
}

async function openListener(
  name: ListenerName,
  core: Core,
  options: ServerOptions,
  own: Pick<ListenerOptions, 'address' | 'tokens' | 'tls' | 'live' | 'tracer' | 'isHealthy'>,
): Promise<Listener> {
  const { log, adminTokens, page, maxMessage = 1024 * 1024, maxKey = 1024 } = options;
  const { adminWithoutToken, maxConnections, idleTimeout, trustProxy } = options;
  const { tls, tokens } = own;
  const bounds = { maxMessage, maxKey, maxConnections, idleTimeout };
  // One for each listener: whoever guesses the tokens of one must not lock others out of the next.
  const attempts = createAttempts(trustProxy);
  const listener = await LISTENERS[name](core, {
    ...own,
    ...bounds,
    adminTokens,
    adminWithoutToken,
    attempts,
    page,
    log,
  });
  const address = showAddress(listener.address);
  log.info('listening', {
    door: name,
    address,
    tls: tls !== undefined,
    // To click on.
    ...(name === 'http' && page !== 'none' && { page: `http${tls === undefined ? '' : 's'}://${address}/` }),
  });
  if (!isLoopback(listener.address) && tokens === undefined && tls?.ca === undefined)
    log.warn('anyone who reaches this address can use up limits; set a token', {
      door: name,
      address,
    });
  return listener;
}

function facts({ size, name }: OpenedStore): Family[] {
  const version = [{ labels: { version: VERSION, store: name }, value: 1 }];
  const info = family('sluice.build_info', 'gauge', 'The version that runs.', version);
  return size === undefined
    ? [info]
    : [info, family('sluice.store.keys', 'gauge', 'Keys in memory.', size())];
}
