/** Shares one limit between machines and runtimes through a sluice-server, over HTTP. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export { decideRemoteHits, type RemoteHits, type RemoteHitsOptions } from './decide-hits.ts';
export {
  remote,
  type RemoteFetch,
  type RemoteOptions,
  type RemoteRequest,
  type RemoteResponse,
} from './remote.ts';
