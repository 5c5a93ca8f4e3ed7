/** The options of a server, and what `startServer` returns. */
import type { Millis } from 'sluice';
import type { TrustProxy } from 'sluice/http';
import type { Core } from './core/core.ts';
import type { GivenToken } from './listeners/grants.ts';
import type { Address } from './listeners/listener.ts';
import type { TlsFiles } from './listeners/tls.ts';
import type { Log } from './log.ts';
import type { StoreOptions } from './store.ts';
import type { MetricsOptions } from './telemetry/metrics/metrics.ts';
import type { OtlpOptions } from './telemetry/metrics/otlp.ts';
import type { TracesOptions } from './telemetry/telemetry.ts';

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
