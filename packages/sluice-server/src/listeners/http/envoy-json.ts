/**
 * Handles POST /json, which is Envoy's ShouldRateLimit with messages in JSON. Status 200 means that the request may pass, and
 * status 429 means that it is over a limit.
 */
import { unitOf } from '../../config/descriptors.ts';
import type { Metadata, Unit } from '../../config/model.ts';
import type { MaybePromise } from 'sluice';
import type { Core } from '../../core/core.ts';
import {
  type Descriptor,
  type DescriptorStatus,
  MAX_DESCRIPTORS,
  type RateLimitAnswer,
} from '../../core/descriptors.ts';
import { chain } from '../../core/maybe-promise.ts';
import { dynamicMetadataOf } from '../dynamic-metadata.ts';
import { deniedDescriptors } from '../request-log.ts';
import { checkDescriptors, type Grant } from '../grants.ts';
import { askedOf } from '../../telemetry/traces/envoy.ts';
import { HttpProblem, json, type Reply } from './reply.ts';

export function answerJson(core: Core, body: unknown, maxKey: number, grant: Grant): MaybePromise<Reply> {
  const request = members(body, 'the request', ['domain', 'descriptors', 'hitsAddend']);
  const domain = request.get('domain');
  if (typeof domain !== 'string' || domain === '') throw invalid('domain must be a non-empty string');
  const list = request.get('descriptors');
  if (!Array.isArray(list) || list.length === 0) throw invalid('descriptors must be a non-empty array');
  if (list.length > MAX_DESCRIPTORS)
    throw invalid(`there must be at most ${MAX_DESCRIPTORS} descriptors; got ${list.length}`);
  // In Envoy's messages, a request without hits_addend and one with 0 both mean 1.
  const hitsAddend = uint(request.get('hitsAddend') ?? 0, 'hitsAddend');
  const descriptors = list.map((one) => readDescriptor(one, maxKey));
  checkDescriptors(grant, domain, descriptors);
  return chain(core.decide(domain, descriptors, hitsAddend || 1), (answer) => ({
    ...json(
      showAnswer(answer, dynamicMetadataOf({ domain, descriptors, hitsAddend }, answer)),
      answer.overLimit ? 429 : 200,
    ),
    asked: () => askedOf(domain, descriptors, answer.overLimit),
    denied: answer.overLimit ? () => deniedDescriptors(domain, descriptors, answer.statuses) : undefined,
  }));
}

function showAnswer({ overLimit, statuses }: RateLimitAnswer, dynamicMetadata: Metadata | undefined): object {
  return {
    overallCode: overLimit ? 'OVER_LIMIT' : 'OK',
    statuses: statuses.map(showStatus),
    ...(dynamicMetadata !== undefined && { dynamicMetadata }),
  };
}

function readDescriptor(value: unknown, maxKey: number): Descriptor {
  const given = members(value, 'a descriptor', ['entries', 'limit', 'hitsAddend', 'isNegativeHits']);
  const entries = given.get('entries') ?? [];
  if (!Array.isArray(entries)) throw invalid('entries must be an array');
  let size = 0;
  const read = entries.map((entry) => {
    const pair = members(entry, 'an entry', ['key', 'value']);
    const key = pair.get('key');
    const text = pair.get('value') ?? '';
    if (typeof key !== 'string' || key === '')
      throw invalid('the key of an entry must be a non-empty string');
    if (typeof text !== 'string') throw invalid('the value of an entry must be a string');
    size += Buffer.byteLength(key) + Buffer.byteLength(text);
    return { key, value: text };
  });
  if (size > maxKey) throw invalid(`the entries of a descriptor must have at most ${maxKey} bytes in total`);
  const hits = given.get('hitsAddend');
  const limit = given.get('limit');
  return {
    entries: read,
    hitsAddend: hits === undefined || hits === null ? undefined : uint(hits, 'hitsAddend'),
    isNegativeHits: given.get('isNegativeHits') === true,
    limit: limit === undefined || limit === null ? undefined : readLimit(limit),
  };
}

function readLimit(value: unknown): { requestsPerUnit: number; unit: Unit } {
  const given = members(value, 'limit', ['requestsPerUnit', 'unit']);
  const text = given.get('unit');
  const unit = typeof text === 'string' ? unitOf(text) : undefined;
  if (unit === undefined) throw invalid('limit.unit must be SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR');
  return { requestsPerUnit: uint(given.get('requestsPerUnit') ?? 0, 'requestsPerUnit'), unit };
}

/**
 * Returns the members of an object. Their names may be in camelCase or snake_case (hitsAddend or hits_addend). Rejects unknown
 * names.
 */
function members(value: unknown, what: string, names: readonly string[]): Map<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`${what} must be an object`);
  const found = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (!names.includes(camel))
      throw invalid(
        `unknown name ${JSON.stringify(name.slice(0, 60))} in ${what}; must be one of ${names.join(', ')}`,
      );
    found.set(camel, member);
  }
  return found;
}

/** Parses an unsigned integer, which may be a string, because Protobuf's JSON format writes 64-bit integers as strings. */
function uint(value: unknown, what: string): number {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (!Number.isSafeInteger(number) || (number as number) < 0)
    throw invalid(`${what} must be an integer, 0 or more`);
  return number as number;
}

function invalid(detail: string): HttpProblem {
  return new HttpProblem('bad-request', detail);
}

/** Formats a status. Omits zero and empty values, as Protobuf's JSON format does. */
function showStatus({ code, currentLimit, limitRemaining, resetAfter }: DescriptorStatus): object {
  return {
    code,
    ...(currentLimit !== undefined && {
      currentLimit: {
        ...(currentLimit.name !== undefined && { name: currentLimit.name }),
        ...(currentLimit.requestsPerUnit > 0 && { requestsPerUnit: currentLimit.requestsPerUnit }),
        ...(currentLimit.unit !== undefined && { unit: currentLimit.unit.toUpperCase() }),
      },
    }),
    ...(limitRemaining > 0 && { limitRemaining }),
    ...(resetAfter !== undefined &&
      resetAfter < Infinity && { durationUntilReset: `${Math.ceil(resetAfter / 1000)}s` }),
  };
}
