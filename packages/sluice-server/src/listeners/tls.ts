/** Certificates, read again when their files change. What cannot serve changes nothing. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Tls } from './listener.ts';
import type { Log } from '../log.ts';
import { UsageError } from '../config/usage-error.ts';

/** Paths of PEM files. With `ca`, clients must show a certificate of it. */
export interface TlsFiles {
  /** The certificate, and those that lead to its authority. */
  readonly cert: string;
  /** Its private key. */
  readonly key: string;
  /** The authority of clients' certificates. */
  readonly ca?: string | undefined;
}

export function pathsOf({ cert, key, ca }: TlsFiles): string[] {
  return ca === undefined ? [cert, key] : [cert, key, ca];
}

/** Throws a UsageError where they cannot be read or do not belong together. */
export function readTls({ cert, key, ca }: TlsFiles): Tls {
  try {
    const read = (file: string): string => readFileSync(file, 'utf8');
    const tls = { cert: read(cert), key: read(key), ...(ca !== undefined && { ca: read(ca) }) };
    createSecureContext(tls);
    return tls;
  } catch (error) {
    throw new UsageError(`the TLS files cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

/** Looks at the files, and hands on what has changed. A certificate whose key is still to come is complained of, and waits. */
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
      if (now !== seen) log.error('certificates refused, the last good ones stay', { error: now });
    }
    seen = now;
  };
}
