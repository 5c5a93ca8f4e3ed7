/** Loads TLS certificates, and reloads them when their files change. Invalid files change nothing. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Tls } from './listener.ts';
import type { Log } from '../log.ts';
import { UsageError } from '../config/usage-error.ts';

/** Paths of PEM files. With `ca`, clients must present a certificate issued by that authority. */
export interface TlsFiles {
  /** The certificate chain. */
  readonly cert: string;
  /** The private key of the certificate. */
  readonly key: string;
  /** The certificate authority that must have issued the clients' certificates. */
  readonly ca?: string | undefined;
}

export function pathsOf({ cert, key, ca }: TlsFiles): string[] {
  return ca === undefined ? [cert, key] : [cert, key, ca];
}

/** Throws a UsageError if the files cannot be read or do not match. */
export function readTls({ cert, key, ca }: TlsFiles): Tls {
  try {
    const read = (file: string): string => readFileSync(file, 'utf8');
    const tls = { cert: read(cert), key: read(key), ...(ca !== undefined && { ca: read(ca) }) };
    createSecureContext(tls);
    return tls;
  } catch (error) {
    throw new UsageError(`cannot use the TLS files: ${(error as Error).message}`, { cause: error });
  }
}

/** Returns a function that reads the files and calls `use` if they have changed. Invalid files are reported once. */
export function createTlsReloader(
  files: TlsFiles,
  first: Tls,
  log: Log,
  use: (tls: Tls) => void,
): () => void {
  let seen = JSON.stringify(first);
  return () => {
    let now: string;
    try {
      const tls = readTls(files);
      now = JSON.stringify(tls);
      if (now === seen) return;
      use(tls);
      log.info('certificates loaded');
    } catch (error) {
      now = (error as Error).message;
      if (now !== seen) log.error('invalid certificates; keeping the previous ones', { error: now });
    }
    seen = now;
  };
}
