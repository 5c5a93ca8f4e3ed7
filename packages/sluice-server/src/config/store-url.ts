/** Checks the database and the parameters of a store's URL, because the clients ignore what they do not understand. */
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

/** The values of a parameter: a pattern, and how messages describe it. */
type Values = readonly [pattern: RegExp, description: string];

const INTEGER: Values = [/^\d{1,9}$/, 'must be an integer of 0 or more'];
/** pg reads '5s' as 5. */
const MILLIS: Values = [/^\d{1,9}$/, 'must be a number of milliseconds, without a unit'];
const BOOLEAN: Values = oneOf('true', 'false', '1', '0');

/** Parameters that accept only some values. */
const VALUES: Readonly<Record<string, Values>> = {
  channel_binding: oneOf('disable', 'prefer', 'require'),
  connect_timeout: INTEGER,
  db: INTEGER,
  family: oneOf('4', '6'),
  idle_in_transaction_session_timeout: MILLIS,
  lock_timeout: MILLIS,
  port: INTEGER,
  ssl: oneOf('true', 'false', '1', '0', 'no-verify'),
  sslmode: oneOf('disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'),
  sslnegotiation: oneOf('postgres', 'direct'),
  statement_timeout: MILLIS,
  uselibpqcompat: BOOLEAN,
};

function oneOf(...words: string[]): Values {
  return [new RegExp(`^(${words.join('|')})$`), `must be one of ${words.join(', ')}`];
}

/**
 * Throws a UsageError that names the first unknown parameter, but not its value, which may be a secret. Throws a URIError if the
 * URL's first question mark may be part of a password.
 */
export function checkStoreUrl(url: string): void {
  checkDatabase(url);
  const start = url.indexOf('?');
  if (start < 0 || !/^(rediss?(\+(cluster|sentinel))?|postgres(ql)?):/.test(url)) return;
  if (url.includes('@', start)) throw new URIError('unescaped ? in a password');
  const known = /^rediss?:/.test(url) ? REDIS : /^postgres(ql)?:/.test(url) ? POSTGRES : [];
  for (const [name, value] of new URLSearchParams(url.slice(start))) {
    if (!known.includes(name)) {
      const accepted = known.length === 0 ? 'it accepts none' : `it accepts ${known.join(', ')}`;
      throw new UsageError(`--store has the unknown parameter ${JSON.stringify(name)}; ${accepted}`);
    }
    const [pattern, description] = VALUES[name] ?? [];
    if (pattern?.test(value) === false) throw invalid(`the parameter ${name}`, description, value);
  }
}

/** Checks the path of a Redis URL, which is the number of a database. */
function checkDatabase(url: string): void {
  const [, path] = /^rediss?:\/\/[^/?]*\/([^?]*)/.exec(url) ?? [];
  if (path === undefined || /^\d{0,9}$/.test(path)) return;
  if (path.includes('@')) throw new URIError('unescaped / in a password');
  throw invalid('the path, which selects a database,', INTEGER[1], path);
}

function invalid(what: string, description: string, value: string): UsageError {
  return new UsageError(
    `--store is invalid: ${what} ${description}; got ${JSON.stringify(value.slice(0, 40))}`,
  );
}
