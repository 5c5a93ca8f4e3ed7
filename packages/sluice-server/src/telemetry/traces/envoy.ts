/** Describes a ShouldRateLimit request for its span, for gRPC and for JSON over HTTP. */
import type { Entry } from '../../core/match.ts';
import type { Asked } from './tracer.ts';

type Descriptors = readonly { readonly entries: readonly Entry[] }[];

export function askedOf(domain: string, descriptors: Descriptors, overLimit: boolean | undefined): Asked {
  const words = descriptors.map(({ entries }) =>
    entries.map(({ key, value }) => `${key}=${value}`).join(','),
  );
  return {
    limit: domain,
    key: words.join(' '),
    count: descriptors.length,
    outcome: overLimit === undefined ? undefined : overLimit ? 'denied' : 'allowed',
  };
}
