/** sluice serve: starts a server from flags, and stops it on a signal. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Millis } from 'sluice';
import { clientAddress, type TrustProxy } from 'sluice/http';
import { type Args, type Flags, readArgs } from './args.ts';
import { createLog, LEVELS, type Log } from '../log.ts';
import { type ListenerName, type RunningServer, type ServerOptions, startServer } from '../server.ts';
import { FAILURE_ANSWERS } from '../config/model.ts';
import { parseTokens } from '../config/tokens.ts';
import { UsageError } from '../config/usage-error.ts';
import type { Token } from '../listeners/grants.ts';
import { durationOf } from './tools/duration.ts';
import { otlpOf, TELEMETRY_FLAGS, tracesOf } from './telemetry-flags.ts';

export const SERVE_FLAGS: Flags = {
  config: {
    value: 'FILE',
    many: true,
    help: 'YAML file with limits, or a folder of such files; can be repeated',
  },
  'merge-domains': { help: 'let several files define the same domain, and merge its descriptors' },
  http: {
    value: 'HOST:PORT',
    help: 'address of the HTTP listener; default 127.0.0.1:8080 if no listener is given. If HOST is omitted, it is 127.0.0.1',
  },
  grpc: {
    value: 'HOST:PORT',
    help: "address of the gRPC listener (Envoy's rate limit service); default 127.0.0.1:8081 if no listener is given",
  },
  resp: {
    value: 'HOST:PORT',
    help: 'address of the RESP listener (CL.THROTTLE for Redis clients); default 127.0.0.1:6380 if no listener is given',
  },
  store: {
    value: 'URL',
    help: 'memory (default), redis://…, redis+cluster://…, redis+sentinel://…, postgres://…',
  },
  'max-keys': {
    value: 'N',
    help: 'memory store: maximum number of keys per limit, or infinity; default 1000000',
  },
  'key-prefix': {
    value: 'TEXT',
    help: 'text before all keys in Redis or Postgres; servers with different prefixes count separately',
  },
  leased: {
    value: 'N',
    help: 'lease units from the store; N is the approximate number of servers that share the store',
  },
  deadline: { value: 'TIME', help: 'timeout for a check in the store; default 200ms' },
  'on-failure': {
    value: 'ANSWER',
    help: 'while the store is unavailable: local (default, this server decides alone), throw (503), allow or deny',
  },
  'deny-cache': { help: 'answer repeated denials from memory for up to 2 s' },
  shadow: { help: 'evaluate and count limits as usual, but never deny a request' },
  'http-token-file': {
    value: 'FILE',
    help: 'file with tokens for the HTTP listener, one per line, each optionally followed by verbs= and limits=; or set SLUICE_HTTP_TOKEN',
  },
  'admin-token-file': {
    value: 'FILE',
    help: 'file with tokens that may also reset and block keys, on every listener; or set SLUICE_ADMIN_TOKEN',
  },
  'allow-admin-without-token': {
    help: 'if no token is configured, let local requests reset and block keys; not safe behind a proxy',
  },
  remote: {
    help: "accept hits from the library's remote() store and decide them with this server's store; needs an admin token",
  },
  'trust-proxy': {
    value: 'WHICH',
    help: "proxies to trust for the client's address: a number, CIDRs, loopback or private; default none",
  },
  'key-header': {
    value: 'NAME',
    help: 'header with the key of GET /v1/forward-auth, such as X-Real-IP; your proxy must overwrite it',
  },
  'limit-header': {
    value: 'NAME',
    help: 'header with the limit of GET /v1/forward-auth; your proxy must overwrite it',
  },
  'grpc-token-file': {
    value: 'FILE',
    help: 'file with tokens for the gRPC listener; or set SLUICE_GRPC_TOKEN',
  },
  'resp-token-file': {
    value: 'FILE',
    help: 'file with tokens for the RESP listener (AUTH); or set SLUICE_RESP_TOKEN',
  },
  'tls-cert': { value: 'FILE', help: 'enable TLS with this certificate chain (PEM)' },
  'tls-key': { value: 'FILE', help: 'private key of the certificate (PEM)' },
  'tls-client-ca': { value: 'FILE', help: 'require client certificates issued by this authority (PEM)' },
  'max-connections': { value: 'N', help: 'maximum number of connections per listener; default 10000' },
  'idle-timeout': {
    value: 'TIME',
    help: 'close RESP and gRPC connections after this long without a request; default 10m, 0 for never',
  },
  'keep-alive': {
    value: 'TIME',
    help: 'close HTTP connections after this long without a request; default 60s, 0 for never',
  },
  'max-cost': {
    value: 'N',
    help: 'maximum number of units that one call may charge or give back; default: the limit of each policy',
  },
  'request-policies': {
    value: 'N',
    help: 'accept up to N different limits in requests, such as "policies": "10/s burst 20"; default 0',
  },
  'max-message': { value: 'BYTES', help: 'maximum size of a request; default 1048576' },
  'max-key': { value: 'BYTES', help: 'maximum length of a key; default 1024' },
  'near-ratio': {
    value: 'SHARE',
    help: 'fraction of a limit above which metrics count a take as near the limit; default 0.8',
  },
  'top-keys': {
    value: 'N',
    help: 'how many of the most denied keys the metrics show; default 20, 0 for none',
  },
  page: {
    value: 'FOLDER',
    help: 'folder of the page to serve at /, or none to serve no page; default: the built-in page',
  },
  ...TELEMETRY_FLAGS,
  'no-watch': { help: 'do not watch the files; reload them only on SIGHUP' },
  'drain-delay': {
    value: 'TIME',
    help: 'after SIGTERM, keep accepting connections for this long while /healthcheck fails; default 0',
  },
  'drain-timeout': {
    value: 'TIME',
    help: 'while shutting down, close connections that are still open after this long; default 10s',
  },
  'log-level': { value: 'LEVEL', help: 'debug, info (default), warn or error' },
  'log-format': { value: 'FORMAT', help: 'json or text; default text on a terminal' },
};

const LISTENER_NAMES: readonly ListenerName[] = ['http', 'grpc', 'resp'];
/** Default ports of the listeners. If no listener is given, all three start on these ports. */
const PORTS: Readonly<Record<ListenerName, number>> = { http: 8080, grpc: 8081, resp: 6380 };

function serverOptions(args: Args, env: NodeJS.ProcessEnv, isTerminal: boolean): ServerOptions {
  const config = args.all('config');
  if (config.length === 0)
    throw new UsageError('--config is required. Pass a YAML file or a folder of YAML files');
  if (args.positionals.length > 0) throw new UsageError(`unexpected argument: ${args.positionals.join(' ')}`);
  const nodes = args.integer('leased');
  if (nodes === 0) throw new UsageError('--leased must be at least 1');
  const format = args.choice('log-format', ['json', 'text']) ?? (isTerminal ? 'text' : 'json');
  const log = createLog((line) => process.stdout.write(line), {
    level: args.choice('log-level', LEVELS) ?? 'info',
    format,
  });
  const maxCost = args.integer('max-cost');
  if (maxCost === 0) throw new UsageError('--max-cost must be at least 1; got 0');
  const nearRatio = Number(args.text('near-ratio') ?? 0.8);
  if (!(nearRatio > 0 && nearRatio <= 1))
    throw new UsageError(`--near-ratio must be above 0 and at most 1; got ${args.text('near-ratio')}`);
  return {
    config,
    mergeDomains: args.has('merge-domains'),
    store: {
      url: args.text('store') ?? 'memory',
      maxKeys: args.text('max-keys') === 'infinity' ? Infinity : args.integer('max-keys'),
      keyPrefix: args.text('key-prefix'),
      deadline: deadlineOf(args),
      onFailure: args.choice('on-failure', FAILURE_ANSWERS),
      denyCache: args.has('deny-cache'),
      leases: nodes === undefined ? undefined : { nodes },
    },
    listeners: listenersOf(args, env, log),
    tls: tlsOf(args),
    adminTokens: tokensOf('admin', args, env, log),
    adminWithoutToken: args.has('allow-admin-without-token'),
    remote: args.has('remote'),
    trustProxy: trustProxyOf(args),
    keyHeader: args.text('key-header'),
    limitHeader: args.text('limit-header'),
    maxConnections: args.integer('max-connections'),
    idleTimeout: timeOf(args, 'idle-timeout'),
    keepAlive: timeOf(args, 'keep-alive'),
    page: args.text('page'),
    maxMessage: args.integer('max-message'),
    maxKey: args.integer('max-key'),
    maxCost,
    requestPolicies: args.integer('request-policies'),
    shadow: args.has('shadow'),
    metrics: { nearRatio, topKeys: args.integer('top-keys') },
    otlp: otlpOf(args, env),
    traces: tracesOf(args, env),
    watch: !args.has('no-watch'),
    log,
  };
}

/** The addresses of the listeners given by flags, or of all three listeners if none is given. */
export function listenersOf(args: Args, env: NodeJS.ProcessEnv, log: Log): ServerOptions['listeners'] {
  const named = LISTENER_NAMES.filter((name) => args.address(name) !== undefined);
  const opened = (named.length > 0 ? named : LISTENER_NAMES).map((name) => {
    const address = args.address(name) ?? { host: '127.0.0.1', port: PORTS[name] };
    const given = args.text(name) ?? '';
    if (/^:?\d+$/.test(given))
      log.warn('no host given, so only this machine can connect; for all interfaces, use 0.0.0.0:PORT', {
        listener: name,
        given,
      });
    return [name, { address, tokens: tokensOf(name, args, env, log) }] as const;
  });
  return Object.fromEntries(opened);
}

function trustProxyOf(args: Args): TrustProxy | undefined {
  const text = args.text('trust-proxy');
  if (text === undefined) return undefined;
  const trust = /^\d+$/.test(text) ? Number(text) : text;
  try {
    clientAddress({ headers: {}, remoteAddress: '127.0.0.1' }, { trustProxy: trust });
    return trust;
  } catch (error) {
    throw new UsageError(`--trust-proxy: ${(error as Error).message}`);
  }
}

function deadlineOf(args: Args): string | undefined {
  const text = args.text('deadline');
  if (text !== undefined) durationOf('--deadline', text);
  return text;
}

/** Parses a duration, or the number 0, which needs no unit. */
function timeOf(args: Args, flag: string): Millis | undefined {
  const text = args.text(flag);
  if (text === undefined) return undefined;
  return text === '0' ? 0 : durationOf(`--${flag}`, text);
}

/** Parses a duration, or a number of milliseconds. */
function millisOf(args: Args, flag: string): Millis | undefined {
  return /^\d+$/.test(args.text(flag) ?? '') ? args.integer(flag) : timeOf(args, flag);
}

/**
 * Reads tokens from a file. The file is read again at most once a second, so that tokens can be replaced without a restart. If
 * the file has become invalid, the previous tokens stay in use.
 */
function tokensOf(
  name: ListenerName | 'admin',
  args: Args,
  env: NodeJS.ProcessEnv,
  log: Log,
): (() => readonly Token[]) | undefined {
  const flag = `${name}-token-file`;
  const file = args.text(flag);
  const variable = `SLUICE_${name.toUpperCase()}_TOKEN`;
  const token = env[variable];
  if (file === undefined) {
    if (token === undefined) return undefined;
    // An empty variable is usually a secret that was not found, so the listener must not be opened to everyone.
    if (token.trim() === '') throw new UsageError(`${variable} must not be empty; set a token, or unset it`);
    return () => [{ token, name: variable }];
  }
  let tokens = readTokens(flag, file);
  let readAt = performance.now();
  let problem = '';
  return () => {
    if (performance.now() - readAt > 1000) {
      readAt = performance.now();
      try {
        tokens = readTokens(flag, file);
        if (problem !== '') log.info('the token file is valid again', { file });
        problem = '';
      } catch (error) {
        const { message } = error as Error;
        if (message !== problem)
          log.error('invalid token file; keeping the previous tokens', { error: message });
        problem = message;
      }
    }
    return tokens;
  };
}

/** The first token in the file, or the token in the environment if no file is given. */
export function tokenOf(file: string | undefined): string | undefined {
  return file === undefined ? process.env['SLUICE_HTTP_TOKEN'] : readTokens('token-file', file)[0]?.token;
}

/** Throws a UsageError if the file cannot be read, is invalid or contains no token. */
function readTokens(flag: string, file: string): Token[] {
  const tokens = parseTokens(readFor(flag, file), file);
  if (tokens.length === 0)
    throw new UsageError(`--${flag}: ${file} contains no token; write one token per line`);
  return tokens;
}

function tlsOf(args: Args): ServerOptions['tls'] {
  const [cert, key, ca] = ['tls-cert', 'tls-key', 'tls-client-ca'].map((name) => args.text(name));
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new UsageError('--tls-cert and --tls-key must be given together');
  return { cert, key, ca };
}

function readFor(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--${flag}: ${(error as Error).message}`);
  }
}

/** Runs until a signal arrives, then drains the server and exits the process. */
export async function serveCommand(argv: readonly string[]): Promise<number> {
  const args = readArgs(argv, SERVE_FLAGS, process.env);
  const options = serverOptions(args, process.env, process.stdout.isTTY === true);
  const [delay, timeout] = [millisOf(args, 'drain-delay') ?? 0, millisOf(args, 'drain-timeout') ?? 10_000];
  // The signal handlers are installed before the server starts, because an unhandled signal would kill the process.
  const stopRequested = stopSignal(options.log);
  let server: RunningServer | undefined;
  process.on('SIGHUP', () => void server?.reload());
  const starting = startServer(options).then((running) => {
    server = running;
  });
  // Starting can take forever, for example if a database accepts the connection but never answers. After a signal, the process
  // waits for the start only until the drain timeout.
  await Promise.race([starting, stopRequested.then(() => sleep(timeout))]);
  await stopRequested;
  await server?.drain({ delay, timeout });
  await new Promise<void>((written) => process.stdout.write('', () => written()));
  // Exit even if something still keeps the process alive, such as a collector that does not answer.
  return process.exit(0);
}

/** Resolves at the first SIGTERM or SIGINT. At a second signal, the process exits immediately. */
function stopSignal(log: Log): Promise<void> {
  let isStopping = false;
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        log.info('shutting down', { signal });
        if (isStopping) process.exit(1);
        isStopping = true;
        resolve();
      });
    }
  });
}
