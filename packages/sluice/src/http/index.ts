/** The entry `sluice/http`, with client addresses, keys, headers, the guard that all middlewares share, and `limitedFetch`. */
export {
  clientAddress,
  type ClientAddressOptions,
  type HeadersLike,
  type RequestLike,
  type TrustProxy,
} from './client-address.ts';
export { BELIEVES_ANYONE, type FrameworkAddress } from './address-key.ts';
export { createGuard, type Guard, type Refusal, type Verdict, type View } from './guard.ts';
export type { GuardLimiter, GuardOptions, Limit, Outcome } from './guard-options.ts';
export { type HeaderOptions, type HeaderPair, type HeaderStyle, rateLimitHeaders } from './headers.ts';
export type { Refill } from '../engine/contract.ts';
export { moreAfter } from '../engine/decision.ts';
export { key } from './key.ts';
export {
  type AnyFetch,
  type FetchLimiter,
  type FetchResponse,
  limitedFetch,
  type LimitedFetchOptions,
} from './client/limited-fetch.ts';
export type { OutgoingRequest } from './client/outgoing.ts';
export { problem, type Problem } from './problem.ts';
