/** Reads the certificates for a TLS connection to Redis. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { UsageError } from './usage-error.ts';

/** Paths of PEM files for the TLS connection to Redis. */
export interface StoreTlsFiles {
  /** The certificate authority that must have issued the certificate of Redis. Default: the authorities that Node trusts. */
  readonly ca?: string | undefined;
  /** The certificate chain that the server presents to Redis, for a Redis that requires client certificates. */
  readonly cert?: string | undefined;
  /** The private key of `cert`. */
  readonly key?: string | undefined;
}

/** Throws a UsageError if the URL does not use TLS, or if the files cannot be read or do not match. */
export function readStoreTls(
  url: string,
  { ca, cert, key }: StoreTlsFiles = {},
): { readonly ca?: string; readonly cert?: string; readonly key?: string } {
  if (ca === undefined && cert === undefined && key === undefined) return {};
  if (/^postgres(ql)?:/.test(url))
    throw new UsageError(
      '--store-ca, --store-cert and --store-key are for Redis. For Postgres, set sslrootcert, sslcert and sslkey in the URL',
    );
  if (!/^rediss(\+|:)/.test(url))
    throw new UsageError(
      '--store-ca, --store-cert and --store-key need a --store with TLS, such as rediss://host:port',
    );
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError('--store-cert and --store-key must be given together');
  try {
    const tls = {
      ...(ca !== undefined && { ca: readFileSync(ca, 'utf8') }),
      ...(cert !== undefined && { cert: readFileSync(cert, 'utf8') }),
      ...(key !== undefined && { key: readFileSync(key, 'utf8') }),
    };
    createSecureContext(tls);
    return tls;
  } catch (error) {
    throw new UsageError(`cannot use the TLS files of the store: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
