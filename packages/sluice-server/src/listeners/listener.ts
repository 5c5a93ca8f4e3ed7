/** A way into the server. Each protocol is one, over the same core. */
import type { SecureContextOptions } from 'node:tls';
import type { Millis } from 'sluice';
import type { Attempts } from './auth-attempts.ts';
import type { Core } from '../core/core.ts';
import type { Live } from './http/live.ts';
import type { Log } from '../log.ts';
import type { Tracer } from '../telemetry/traces/tracer.ts';

/** Where a listener is. */
export interface Address {
  /** A name or an address. */
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

/** With `ca`, clients must show a certificate of it. */
export type Tls = Pick<SecureContextOptions, 'cert' | 'key' | 'ca'>;

export interface ListenerOptions {
  readonly address: Address;
  readonly tls?: Tls | undefined;
  /** One of these must be shown; undefined: none is asked for. A function, since files of tokens change. */
  readonly tokens?: (() => readonly string[]) | undefined;
  /** One of these must be shown to reset or block a key; it opens everything else, too. */
  readonly adminTokens?: (() => readonly string[]) | undefined;
  /** Without any token, requests that come from this machine may reset and block keys. Default false. */
  readonly adminWithoutToken?: boolean | undefined;
  /** Limits wrong tokens by address. Undefined: they are not limited. */
  readonly attempts?: Attempts | undefined;
  /** Connections held at a time; one more is refused. Default 10,000. */
  readonly maxConnections?: number | undefined;
  /** Milliseconds from the first byte of a RESP command or gRPC request to its last. Default 30 s. */
  readonly requestTimeout?: Millis | undefined;
  /** A connection (RESP, gRPC) without a request for this long is closed; 0: never. Default 10 minutes. */
  readonly idleTimeout?: Millis | undefined;
  /** Bytes of a message. */
  readonly maxMessage: number;
  /** Bytes of a key, in UTF-8. */
  readonly maxKey: number;
  readonly log: Log;
  /** Undefined: requests leave no spans. */
  readonly tracer?: Tracer | undefined;
  /** Whether load balancers should send requests here. */
  readonly isHealthy: () => boolean;
  /** What the page shows of the running server. */
  readonly live?: Live | undefined;
  /** Folder of the built page; undefined: the one that comes with the server. 'none': no page. */
  readonly page?: string | undefined;
}

export interface Listener {
  /** With the port that was given where 0 was asked for. */
  readonly address: Address;
  /** Lets nobody new in, answers what has come, and closes; after `timeout` ms, what is left is cut off. */
  drain(timeout: number): Promise<void>;
  /** Other certificates, from the next connection on. */
  secure(tls: Tls): void;
}

/** Default of `idleTimeout`. */
export const IDLE_TIMEOUT: Millis = 600_000;
/** Milliseconds for a TLS handshake and for the password. */
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
