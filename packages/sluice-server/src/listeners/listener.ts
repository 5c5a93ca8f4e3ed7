/** Types and constants that all listeners share. There is one listener per protocol, and all of them use the same core. */
import type { SecureContextOptions } from 'node:tls';
import type { Millis } from 'sluice';
import type { Attempts } from './auth-attempts.ts';
import type { Core } from '../core/core.ts';
import type { GivenToken } from './grants.ts';
import type { Live } from './http/live.ts';
import type { Log } from '../log.ts';
import type { RequestLog } from './request-log.ts';
import type { Tracer } from '../telemetry/traces/tracer.ts';

/** Network address of a listener. */
export interface Address {
  /** Host name or IP address. */
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
}

/** TLS certificate and key of a listener. With `ca`, clients must present a certificate issued by that authority. */
export type Tls = Pick<SecureContextOptions, 'cert' | 'key' | 'ca'>;

export interface ListenerOptions {
  readonly address: Address;
  readonly tls?: Tls | undefined;
  /**
   * Returns the accepted tokens. Every client must send one of them. It is a function because token files may change. Undefined
   * if no token is required.
   */
  readonly tokens?: (() => readonly GivenToken[]) | undefined;
  /** Returns the tokens that may reset and block keys. They are also accepted for all other requests. */
  readonly adminTokens?: (() => readonly GivenToken[]) | undefined;
  /** Whether requests from this machine may reset and block keys if no token is configured. Default false. */
  readonly adminWithoutToken?: boolean | undefined;
  /** Limits attempts with wrong tokens. Undefined if they are not limited. */
  readonly attempts?: Attempts | undefined;
  /** Maximum number of open connections. Further connections are refused. Default 10,000. */
  readonly maxConnections?: number | undefined;
  /** Maximum time from the first byte of a RESP command or gRPC request to its last byte. Default 30 s. */
  readonly requestTimeout?: Millis | undefined;
  /** RESP and gRPC connections are closed after this long without a request. 0 means never. Default 10 minutes. */
  readonly idleTimeout?: Millis | undefined;
  /** HTTP connections are closed after this long without a request. 0 means never. Default 60 s. */
  readonly keepAlive?: Millis | undefined;
  /** Maximum size of a request, in bytes. */
  readonly maxMessage: number;
  /** Maximum length of a key, in bytes of UTF-8. */
  readonly maxKey: number;
  /** Called with 1 when a connection is opened, and with -1 when it closes. */
  readonly onConnection?: ((change: 1 | -1) => void) | undefined;
  readonly log: Log;
  /** Logs refused and denied requests. Undefined if they are not logged. */
  readonly requestLog?: RequestLog | undefined;
  /** Records spans. Undefined if no spans are recorded. */
  readonly tracer?: Tracer | undefined;
  /** Returns whether load balancers should send requests to this server. False while the server starts and while it drains. */
  readonly isHealthy: () => boolean;
  /** Returns whether the store answers, for /readyz; HTTP only. Default: it always answers. */
  readonly isStoreReady?: (() => Promise<boolean>) | undefined;
  /** Whether to accept hits from the library's store `remote`; HTTP only. Default false. */
  readonly remote?: boolean | undefined;
  /** Header with the key of a request to /v1/forward-auth; HTTP only. */
  readonly keyHeader?: string | undefined;
  /** Header with the name of the limit for a request to /v1/forward-auth; HTTP only. */
  readonly limitHeader?: string | undefined;
  /** Live data for the page; HTTP only. */
  readonly live?: Live | undefined;
  /** Folder of the built page; HTTP only. Default: the page that ships with the server. 'none' serves no page. */
  readonly page?: string | undefined;
}

export interface Listener {
  /** The address of the listener, with the actual port if port 0 was requested. */
  readonly address: Address;
  /**
   * Stops accepting connections, answers requests in progress and closes. Connections that are still open after `timeout` ms are
   * closed.
   */
  drain(timeout: number): Promise<void>;
  /** Uses the given certificates for new connections. */
  secure(tls: Tls): void;
}

/** Default of `idleTimeout`. */
export const IDLE_TIMEOUT: Millis = 600_000;
/** Default of `keepAlive`. */
export const KEEP_ALIVE: Millis = 60_000;
/** Maximum time for a TLS handshake, and for a RESP client to authenticate. */
export const HANDSHAKE_TIMEOUT: Millis = 10_000;
/** Default of `requestTimeout`. */
export const REQUEST_TIMEOUT: Millis = 30_000;

export type OpenListener = (core: Core, options: ListenerOptions) => Promise<Listener>;

export function showAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function isLoopback({ host }: Address): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
