/** The server as a library: for those who embed it, and for doors of their own. */
export { loadConfig, parseConfig, type ConfigFile } from './config/config.ts';
export { type Config, ConfigError, type Fault } from './config/model.ts';
export { type Core, type CoreOptions, createCore, UnknownLimit, type Verdict } from './core/core.ts';
export type { Descriptor, DescriptorStatus, RateLimitAnswer } from './core/descriptors.ts';
export { createLog, type Log } from './log.ts';
export { type RunningServer, type ServerOptions, startServer } from './server.ts';
