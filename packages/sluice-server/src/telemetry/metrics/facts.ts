/** Metrics about the server itself: its version, configuration, mode, store, connections and certificates. */
import { X509Certificate } from 'node:crypto';
import type { Family, Sample } from 'sluice/prometheus';
import { VERSION } from '../../version.ts';
import { family } from './family.ts';

/** The values from which the metrics about the server are created. They are read at each export. */
export interface Facts {
  /** The URL of the store without its password. */
  readonly store: string;
  /** Whether the whole server is in shadow mode. */
  readonly isShadow: boolean;
  /** Hash of the configuration in use. */
  readonly hash: string;
  /** Number of open connections of each listener. */
  readonly connections: ReadonlyMap<string, number>;
  /** The certificate chain of each listener that uses TLS, as PEM. 'store' is the client certificate for the store. */
  readonly certificates: ReadonlyMap<string, string>;
  /** Number of keys in the memory store. Undefined for other stores. */
  readonly keys: number | undefined;
  /** Number of keys that the memory store has evicted. Undefined for other stores. */
  readonly evictions: number | undefined;
}

export function factFamilies(facts: Facts): Family[] {
  const { store, isShadow, hash, connections, certificates, keys, evictions } = facts;
  const version = [{ labels: { version: VERSION, store }, value: 1 }];
  const modes = [
    { labels: { mode: 'enforce' }, value: isShadow ? 0 : 1 },
    { labels: { mode: 'shadow' }, value: isShadow ? 1 : 0 },
  ];
  const open = byListener([...connections]);
  const expiry = byListener([...certificates].map(([listener, chain]) => [listener, expiryOf(chain)]));
  return [
    family('sluice.build_info', 'gauge', 'Version and store of the running server.', version),
    family(
      'sluice.config.info',
      'gauge',
      'Hash of the configuration in use. Servers that share a store should have the same hash.',
      [{ labels: { hash }, value: 1 }],
    ),
    family('sluice.mode', 'gauge', '1 for the mode of the server: enforce, or shadow with --shadow.', modes),
    family('sluice.connections', 'gauge', 'Open connections, by listener.', open),
    family(
      'sluice.certificate_expiry_timestamp',
      'gauge',
      "Earliest expiry of a certificate in the listener's chain. The listener `store` stands for the client certificate that the server presents to its store.",
      expiry,
      's',
    ),
    ...(keys === undefined ? [] : [family('sluice.store.keys', 'gauge', 'Keys in the memory store.', keys)]),
    ...(evictions === undefined
      ? []
      : [
          family(
            'sluice.evictions',
            'counter',
            'Keys that the memory store evicted before they were fully replenished.',
            evictions,
          ),
        ]),
  ];
}

function byListener(values: readonly (readonly [listener: string, value: number])[]): Sample[] {
  return values.map(([listener, value]) => ({ labels: { listener }, value }));
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

/** When the first certificate of the chain expires, in seconds since 1970, because a client rejects the chain from then on. */
function expiryOf(chain: string): number {
  const ends = (chain.match(CERTIFICATE) ?? []).map((one) => Date.parse(new X509Certificate(one).validTo));
  return Math.min(...ends) / 1000;
}
