/** Envoy's ShouldRateLimit: from the message to the core's question, and back. */
import { status } from '@grpc/grpc-js';
import type { MaybePromise } from 'sluice';
import { unitOf } from '../../config/descriptors.ts';
import type { Core } from '../../core/core.ts';
import {
  type Descriptor,
  type DescriptorStatus,
  MAX_DESCRIPTORS,
  type RateLimitAnswer,
} from '../../core/descriptors.ts';
import { chain } from '../../core/maybe-promise.ts';
import type { RateLimitRequest, RateLimitResponse, Status } from './proto.ts';

/** A call that gets no answer, and why. */
export class Refusal extends Error {
  readonly code: status;

  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}

type Asked = RateLimitRequest['descriptors'][number];

export function shouldRateLimit(
  core: Core,
  { domain, descriptors, hitsAddend }: RateLimitRequest,
  maxKey: number,
): MaybePromise<RateLimitResponse> {
  if (domain === '') throw wrong('domain must not be empty');
  if (descriptors.length === 0) throw wrong('descriptors must not be empty');
  if (descriptors.length > MAX_DESCRIPTORS) throw wrong(`descriptors must be at most ${MAX_DESCRIPTORS}`);
  const asked = descriptors.map((one) => readDescriptor(one, maxKey));
  // Of the request, 0 and nothing are one on the wire.
  return chain(core.decide(domain, asked, hitsAddend || 1), responseOf);
}

function readDescriptor(given: Asked, maxKey: number): Descriptor {
  const { entries, limit, hitsAddend, isNegativeHits } = given;
  if (entries.length === 0) throw wrong('entries must not be empty');
  let size = 0;
  for (const { key, value } of entries) {
    if (key === '') throw wrong('the key of an entry must not be empty');
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > maxKey) throw wrong(`the entries of a descriptor must have at most ${maxKey} bytes`);
  return {
    entries,
    limit: limit === null ? undefined : readLimit(limit),
    // A uint64 on the wire. More than 2^53, the greatest cost, is over every limit just as 2^53 is.
    hitsAddend: hitsAddend === null ? undefined : Math.min(hitsAddend.value, 2 ** 53),
    isNegativeHits,
  };
}

function readLimit({ requestsPerUnit, unit: given }: NonNullable<Asked['limit']>): Descriptor['limit'] {
  const unit = typeof given === 'string' ? unitOf(given) : undefined;
  if (unit === undefined) throw wrong(`the unit of limit is not known: ${given}`);
  return { requestsPerUnit, unit };
}

function responseOf({ overLimit, statuses, quotaViolations }: RateLimitAnswer): RateLimitResponse {
  const nearest = nearestOf(statuses);
  return {
    overallCode: overLimit ? 'OVER_LIMIT' : 'OK',
    statuses: statuses.map(showStatus),
    responseHeadersToAdd: nearest === undefined ? [] : headersOf(nearest),
    ...(quotaViolations.length > 0 && { dynamicMetadata: metadataOf(quotaViolations) }),
  };
}

function showStatus({ code, currentLimit, limitRemaining, resetAfter }: DescriptorStatus): Status {
  return {
    code,
    ...(currentLimit !== undefined && {
      currentLimit: {
        name: currentLimit.name ?? '',
        requestsPerUnit: currentLimit.requestsPerUnit,
        unit: currentLimit.unit?.toUpperCase() ?? 'UNKNOWN',
      },
    }),
    limitRemaining,
    ...(resetAfter !== undefined &&
      resetAfter < Infinity && { durationUntilReset: { seconds: secondsOf(resetAfter) } }),
  };
}

function wrong(message: string): Refusal {
  return new Refusal(status.INVALID_ARGUMENT, message);
}

/** Envoy shows whole seconds, and 0 would say now. */
function secondsOf(span: number): number {
  return Math.ceil(span / 1000);
}

/** The limit that was hit, or has the least left; of equals, the first. */
function nearestOf(statuses: readonly DescriptorStatus[]): DescriptorStatus | undefined {
  let nearest: DescriptorStatus | undefined;
  for (const status of statuses) {
    if (status.currentLimit === undefined) continue;
    if (nearest === undefined || rankOf(status) < rankOf(nearest)) nearest = status;
  }
  return nearest;
}

function rankOf({ code, limitRemaining }: DescriptorStatus): number {
  return code === 'OVER_LIMIT' ? -1 : limitRemaining;
}

function headersOf({
  currentLimit,
  limitRemaining,
  resetAfter = 0,
}: DescriptorStatus): { key: string; value: string }[] {
  const header = (key: string, value: number): { key: string; value: string } => ({
    key,
    value: String(value),
  });
  return [
    header('RateLimit-Limit', currentLimit?.requestsPerUnit ?? 0),
    header('RateLimit-Remaining', limitRemaining),
    ...(resetAfter < Infinity ? [header('RateLimit-Reset', secondsOf(resetAfter))] : []),
  ];
}

/** Where Envoy's other filters find which descriptors in quota mode went over. */
function metadataOf(violations: readonly number[]): NonNullable<RateLimitResponse['dynamicMetadata']> {
  const values = violations.map((numberValue) => ({ numberValue }));
  return { fields: { quotaModeViolations: { listValue: { values } } } };
}
