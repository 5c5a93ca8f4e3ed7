/** The server as a library: start it inside a program, or write another listener on top of `createCore`. */
export { loadConfig, parseConfig, type ConfigFile, type ConfigOptions } from './config/config.ts';
export {
  type Config,
  ConfigError,
  type Domain,
  type FailureAnswer,
  type Fault,
  type Level,
  type LimitConfig,
  type Metadata,
  type Override,
  type Rate,
  type Rule,
  type RuleLimit,
  type Treatment,
  type Unit,
} from './config/model.ts';
export {
  type Core,
  type CoreOptions,
  type CoreVerbs,
  createCore,
  type LimitRef,
  type ManyItem,
  type ManyVerdict,
  UnknownLimit,
  type Verdict,
} from './core/core.ts';
export type { CurrentLimit, Descriptor, DescriptorStatus, RateLimitAnswer } from './core/descriptors.ts';
export type { AskOptions, Booking, Settlement } from './core/limit.ts';
export type { Entry } from './core/match.ts';
export type { GivenToken, Token, TokenVerb } from './listeners/grants.ts';
export type { Address } from './listeners/listener.ts';
export { createLog, type Log, type LogLevel, type LogOptions } from './log.ts';
export type { Counts, Denied, Metrics, MetricsOptions, Totals } from './telemetry/metrics/metrics.ts';
export type { OtlpOptions } from './telemetry/metrics/otlp.ts';
export { startServer } from './server.ts';
export type {
  ListenerName,
  DrainOptions,
  ServerListener,
  RunningServer,
  ServerOptions,
} from './server-options.ts';
export type { StoreOptions } from './store.ts';
export type { StoreTlsFiles } from './config/store-tls.ts';
export type { FallbackWatch } from './telemetry/fallback-watch.ts';
export type { TracesOptions } from './telemetry/telemetry.ts';
export type { TlsFiles } from './listeners/tls.ts';
