/** Implements Envoy's ShouldRateLimit. Validates the request message, gets the decision from the core and builds the response. */
import { status } from '@grpc/grpc-js';
import type { MaybePromise } from 'sluice';
import { unitOf } from '../../config/descriptors.ts';
import type { Metadata } from '../../config/model.ts';
import type { Core } from '../../core/core.ts';
import {
  type Descriptor,
  type DescriptorStatus,
  MAX_DESCRIPTORS,
  type RateLimitAnswer,
} from '../../core/descriptors.ts';
import { chain } from '../../core/maybe-promise.ts';
import { dynamicMetadataOf } from '../dynamic-metadata.ts';
import { checkDescriptors, type Grant } from '../grants.ts';
import type { RateLimitRequest, RateLimitResponse, Status } from './proto.ts';

/** Thrown to fail a call with a gRPC status. */
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
  grant: Grant,
): MaybePromise<RateLimitResponse> {
  if (domain === '') throw invalid('domain must not be empty');
  if (descriptors.length === 0) throw invalid('descriptors must not be empty');
  if (descriptors.length > MAX_DESCRIPTORS)
    throw invalid(`there must be at most ${MAX_DESCRIPTORS} descriptors; got ${descriptors.length}`);
  const asked = descriptors.map((one) => readDescriptor(one, maxKey));
  checkDescriptors(grant, domain, asked);
  // On the wire, a request's hits_addend of 0 cannot be distinguished from a missing one.
  return chain(core.decide(domain, asked, hitsAddend || 1), (answer) =>
    responseOf(answer, dynamicMetadataOf({ domain, descriptors, hitsAddend }, answer)),
  );
}

function readDescriptor(given: Asked, maxKey: number): Descriptor {
  const { entries, limit, hitsAddend, isNegativeHits } = given;
  let size = 0;
  for (const { key, value } of entries) {
    if (key === '') throw invalid('the key of an entry must not be empty');
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > maxKey) throw invalid(`the entries of a descriptor must have at most ${maxKey} bytes in total`);
  return {
    entries,
    limit: limit === null ? undefined : readLimit(limit),
    // The value is a uint64 on the wire. 2^53 is the maximum cost, and any larger value exceeds every limit anyway.
    hitsAddend: hitsAddend === null ? undefined : Math.min(hitsAddend.value, 2 ** 53),
    isNegativeHits,
  };
}

function readLimit({ requestsPerUnit, unit: given }: NonNullable<Asked['limit']>): Descriptor['limit'] {
  const unit = typeof given === 'string' ? unitOf(given) : undefined;
  if (unit === undefined)
    throw invalid(`limit.unit must be SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR; got ${given}`);
  return { requestsPerUnit, unit };
}

function responseOf(
  { overLimit, statuses }: RateLimitAnswer,
  metadata: Metadata | undefined,
): RateLimitResponse {
  const nearest = nearestOf(statuses);
  return {
    overallCode: overLimit ? 'OVER_LIMIT' : 'OK',
    statuses: statuses.map(showStatus),
    responseHeadersToAdd: nearest === undefined ? [] : headersOf(nearest),
    dynamicMetadata: metadata && structOf(metadata),
  };
}

function showStatus({ code, currentLimit, limitRemaining, resetAfter }: DescriptorStatus): Status {
  return {
    code,
    currentLimit: currentLimit && {
      name: currentLimit.name ?? '',
      requestsPerUnit: currentLimit.requestsPerUnit,
      unit: currentLimit.unit?.toUpperCase() ?? 'UNKNOWN',
    },
    limitRemaining,
    durationUntilReset:
      resetAfter !== undefined && resetAfter < Infinity ? { seconds: secondsOf(resetAfter) } : undefined,
  };
}

function invalid(message: string): Refusal {
  return new Refusal(status.INVALID_ARGUMENT, message);
}

/** Seconds, rounded up, because Envoy shows whole seconds and 0 would mean now. */
function secondsOf(duration: number): number {
  return Math.ceil(duration / 1000);
}

/** The first limit that was exceeded or, if none was, the limit with the fewest remaining requests. */
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

/** Converts a JSON object to a google.protobuf.Struct. */
function structOf(object: Metadata): NonNullable<RateLimitResponse['dynamicMetadata']> {
  return {
    fields: Object.fromEntries(Object.entries(object).map(([name, value]) => [name, jsonValueOf(value)])),
  };
}

/** Converts a JSON value to a google.protobuf.Value. */
function jsonValueOf(value: unknown): object {
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { listValue: { values: value.map(jsonValueOf) } };
  if (typeof value === 'object' && value !== null) return { structValue: structOf(value as Metadata) };
  return { nullValue: 'NULL_VALUE' };
}
