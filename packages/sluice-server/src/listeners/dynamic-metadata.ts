/** Builds the dynamic metadata of a ShouldRateLimit response, which Envoy's other filters can read. */
import type { Metadata } from '../config/model.ts';
import type { RateLimitAnswer } from '../core/descriptors.ts';
import type { Entry } from '../core/match.ts';

interface Request {
  readonly domain: string;
  readonly descriptors: readonly { readonly entries: readonly Entry[] }[];
  /** The value that the client sent, or 0 if the client sent none. */
  readonly hitsAddend: number;
}

/**
 * Returns the fields that envoyproxy/ratelimit sends with RESPONSE_DYNAMIC_METADATA. To save time, returns undefined if none of
 * the request's descriptors is in quota mode or has metadata.
 */
export function dynamicMetadataOf(
  { domain, descriptors, hitsAddend }: Request,
  { quotaMode, quotaViolations, metadata }: RateLimitAnswer,
): Metadata | undefined {
  if (!quotaMode && metadata === undefined) return undefined;
  return {
    domain,
    descriptors: descriptors.map(({ entries }) => ({
      entries: entries.map(({ key, value }) => `${key}=${value}`),
    })),
    ...(hitsAddend > 0 && { hitsAddend }),
    quotaModeEnabled: quotaMode,
    ...(quotaViolations.length > 0 && { quotaModeViolations: quotaViolations }),
    ...(metadata !== undefined && { metadata }),
  };
}
