/** TLS credentials of the gRPC listener, whose certificates can be replaced while it is running. */
import { experimental, ServerCredentials } from '@grpc/grpc-js';
import type { ListenerOptions, Tls } from '../listener.ts';

export interface Credentials {
  readonly credentials: ServerCredentials;
  readonly secure: (tls: Tls) => void;
}

export function credentialsOf(tls: ListenerOptions['tls']): Credentials {
  if (tls === undefined) return { credentials: ServerCredentials.createInsecure(), secure: () => {} };
  const own = providerOf(tls);
  const authority = tls.ca === undefined ? null : own;
  const make = experimental.createCertificateProviderServerCredentials;
  // The library's type declaration swaps the first two parameters. The implementation expects the identity first.
  return { credentials: make(own, authority, authority !== null), secure: own.secure };
}

function providerOf(first: Tls): experimental.CertificateProvider & Pick<Credentials, 'secure'> {
  let tls = first;
  const identities = new Set<experimental.IdentityCertificateUpdateListener>();
  const authorities = new Set<experimental.CaCertificateUpdateListener>();
  const identity = () => ({ certificate: pem(tls.cert), privateKey: pem(tls.key) });
  const authority = () => ({ caCertificate: pem(tls.ca) });
  // Listeners must not be called before the function that adds them has returned.
  return {
    addIdentityCertificateListener(listener) {
      identities.add(listener);
      queueMicrotask(() => listener(identity()));
    },
    addCaCertificateListener(listener) {
      authorities.add(listener);
      queueMicrotask(() => listener(authority()));
    },
    removeIdentityCertificateListener: (listener) => void identities.delete(listener),
    removeCaCertificateListener: (listener) => void authorities.delete(listener),
    secure: (next) => {
      tls = next;
      for (const listener of authorities) listener(authority());
      for (const listener of identities) listener(identity());
    },
  };
}

function pem(value: unknown): Buffer {
  const parts = Array.isArray(value) ? value : [value];
  return Buffer.concat(
    parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(`${String(part)}\n`))),
  );
}
