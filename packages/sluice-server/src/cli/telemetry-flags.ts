/** Options of metrics and traces, from flags and from OpenTelemetry's environment variables. */
import type { Args, Flags } from './args.ts';
import type { OtlpOptions } from '../telemetry/metrics/otlp.ts';
import { UsageError } from '../config/usage-error.ts';
import type { TracesOptions } from '../telemetry/telemetry.ts';

export const TELEMETRY_FLAGS: Flags = {
  'otlp-endpoint': {
    value: 'URL',
    help: 'push metrics and spans to this collector (OTLP/HTTP); or set OTEL_EXPORTER_OTLP_ENDPOINT',
  },
  'trace-share': {
    value: 'SHARE',
    help: 'fraction of the requests without a traceparent header that get a span; default 0.001',
  },
  'trace-keys': { help: 'include keys in spans' },
};

type Env = Readonly<Record<string, string | undefined>>;

function endpointOf(args: Args): string | undefined {
  const endpoint = args.text('otlp-endpoint');
  if (endpoint !== undefined && !/^https?:\/\/[^/]/.test(endpoint))
    throw new UsageError(`--otlp-endpoint must be a URL such as http://localhost:4318; got ${endpoint}`);
  return endpoint;
}

/**
 * Options of the OTLP exporter. The flag takes precedence over the environment variables, most of which the exporter reads
 * itself.
 */
export function otlpOf(args: Args, env: Env): OtlpOptions | undefined {
  const endpoint = endpointOf(args);
  const isOff = env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_METRICS_EXPORTER'] === 'none';
  const isNamed = env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'];
  if (endpoint === undefined && (isOff || !isNamed)) return undefined;
  return { endpoint, every: millis(env['OTEL_METRIC_EXPORT_INTERVAL']) };
}

export function tracesOf(args: Args, env: Env): TracesOptions | undefined {
  const share = args.text('trace-share');
  if (share !== undefined && !/^(0|1|0?\.\d+|1e-\d+)$/.test(share))
    throw new UsageError(`--trace-share must be a number from 0 to 1; got ${share}`);
  const endpoint = endpointOf(args);
  const own = (name: string): string | undefined =>
    env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || undefined;
  const url = urlOf(endpoint, env);
  if (url === undefined || env['OTEL_TRACES_EXPORTER'] === 'none') return undefined;
  if (endpoint === undefined && env['OTEL_SDK_DISABLED'] === 'true') return undefined;
  return {
    url,
    headers: headersOf(own('HEADERS') ?? ''),
    timeout: millis(own('TIMEOUT')),
    certificate: own('CERTIFICATE'),
    every: millis(env['OTEL_BSP_SCHEDULE_DELAY']),
    share: share === undefined ? undefined : Number(share),
    keys: args.has('trace-keys'),
  };
}

/** URL to push spans to. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is a full URL; the other endpoints need `/v1/traces` appended. */
function urlOf(endpoint: string | undefined, env: Env): string | undefined {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  if (endpoint === undefined && own) return own;
  const all = endpoint ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  return all ? `${all.replace(/\/+$/, '')}/v1/traces` : undefined;
}

/** Parses a list of headers such as 'api-key=secret,tenant=a%20b'. */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair) => {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    return name === undefined || value === undefined ? [] : [[name, decoded(value)]];
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function millis(text: string | undefined): number | undefined {
  const value = Number(text);
  return value > 0 ? value : undefined;
}
