/** Turns the flags of `sluice serve` into the options of a server. */
import type { Millis } from 'sluice';
import { clientAddress, type TrustProxy } from 'sluice/http';
import type { Args } from './args.ts';
import { createLog, LEVELS, type Log } from '../log.ts';
import type { ListenerName, ServerOptions } from '../server-options.ts';
import { FAILURE_ANSWERS } from '../config/model.ts';
import { UsageError } from '../config/usage-error.ts';
import { LOG_FORMATS } from './serve-flags.ts';
import { observeOf, warnWithoutHost } from './observe-flags.ts';
import { otlpOf, tracesOf } from './telemetry-flags.ts';
import { tokensOf } from './token-files.ts';
import { durationOf } from './tools/duration.ts';

const LISTENER_NAMES: readonly ListenerName[] = ['http', 'grpc', 'resp'];
/** Default ports of the listeners. If no listener is given, all three start on these ports. */
const PORTS: Readonly<Record<ListenerName, number>> = { http: 8080, grpc: 8081, resp: 6380 };

/** Reads the options of a server from flags and the environment. Throws a UsageError that names the first invalid flag. */
export function serverOptions(args: Args, env: NodeJS.ProcessEnv, isTerminal: boolean): ServerOptions {
  const config = args.all('config');
  if (config.length === 0)
    throw new UsageError('--config is required. Pass a YAML file or a folder of YAML files');
  if (args.positionals.length > 0) throw new UsageError(`unexpected argument: ${args.positionals.join(' ')}`);
  const nodes = args.integer('leased', 1);
  const format = args.choice('log-format', LOG_FORMATS) ?? (isTerminal ? 'text' : 'json');
  const log = createLog((line) => process.stdout.write(line), {
    level: args.choice('log-level', LEVELS) ?? 'info',
    format,
  });
  if (args.has('shadow') && args.has('remote'))
    log.warn(
      '--shadow does not apply to hits of remote stores; set `shadow` in the middleware of the clients instead',
    );
  const nearRatio = Number(args.text('near-ratio') ?? 0.8);
  if (!(nearRatio > 0 && nearRatio <= 1))
    throw new UsageError(`--near-ratio must be above 0 and at most 1; got ${args.text('near-ratio')}`);
  return {
    config,
    mergeDomains: args.has('merge-domains'),
    store: {
      url: args.text('store') ?? 'memory',
      tls: { ca: args.text('store-ca'), cert: args.text('store-cert'), key: args.text('store-key') },
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
    maxConnections: args.integer('max-connections', 1),
    idleTimeout: timeOf(args, 'idle-timeout'),
    keepAlive: timeOf(args, 'keep-alive'),
    page: args.text('page'),
    maxMessage: args.integer('max-message', 1),
    maxKey: args.integer('max-key', 1),
    maxCost: args.integer('max-cost', 1),
    requestPolicies: args.integer('request-policies'),
    shadow: args.has('shadow'),
    metrics: { nearRatio, topKeys: args.integer('top-keys') },
    otlp: otlpOf(args, env),
    traces: tracesOf(args, env),
    ...observeOf(args, log),
    watch: !args.has('no-watch'),
    log,
  };
}

/** The addresses of the listeners given by flags, or of all three listeners if none is given. */
export function listenersOf(args: Args, env: NodeJS.ProcessEnv, log: Log): ServerOptions['listeners'] {
  const named = LISTENER_NAMES.filter((name) => args.address(name) !== undefined);
  const opened = (named.length > 0 ? named : LISTENER_NAMES).map((name) => {
    const address = args.address(name) ?? { host: '127.0.0.1', port: PORTS[name] };
    warnWithoutHost(args, name, name, log);
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
export function millisOf(args: Args, flag: string): Millis | undefined {
  return /^\d+$/.test(args.text(flag) ?? '') ? args.integer(flag) : timeOf(args, flag);
}

function tlsOf(args: Args): ServerOptions['tls'] {
  const [cert, key, ca] = ['tls-cert', 'tls-key', 'tls-client-ca'].map((name) => args.text(name));
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new UsageError('--tls-cert and --tls-key must be given together');
  return { cert, key, ca };
}
