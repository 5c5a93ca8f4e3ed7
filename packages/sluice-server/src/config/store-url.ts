/** Checks the parameters of a store's URL, because the clients ignore parameters that they do not know. */
import { UsageError } from './usage-error.ts';

const REDIS: readonly string[] = ['db', 'family'];
/**
 * Includes `channel_binding` and `connect_timeout`, which pg ignores, because the URLs that database providers give out contain
 * them.
 */
const POSTGRES: readonly string[] = [
  'application_name',
  'channel_binding',
  'client_encoding',
  'connect_timeout',
  'fallback_application_name',
  'host',
  'idle_in_transaction_session_timeout',
  'lock_timeout',
  'options',
  'password',
  'port',
  'ssl',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'statement_timeout',
  'uselibpqcompat',
  'user',
];

/**
 * Throws a UsageError that names the first unknown parameter, but not its value, which may be a secret. Throws a URIError if the
 * URL's first question mark may be part of a password.
 */
export function checkParameters(url: string): void {
  const start = url.indexOf('?');
  if (start < 0 || !/^(rediss?(\+(cluster|sentinel))?|postgres(ql)?):/.test(url)) return;
  if (url.includes('@', start)) throw new URIError('unescaped ? in a password');
  const known = /^rediss?:/.test(url) ? REDIS : /^postgres(ql)?:/.test(url) ? POSTGRES : [];
  for (const name of new URLSearchParams(url.slice(start)).keys()) {
    if (known.includes(name)) continue;
    const accepted = known.length === 0 ? 'it accepts none' : `it accepts ${known.join(', ')}`;
    throw new UsageError(`--store has the unknown parameter ${JSON.stringify(name)}; ${accepted}`);
  }
}
