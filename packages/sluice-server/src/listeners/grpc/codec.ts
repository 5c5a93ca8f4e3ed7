/**
 * Decodes and encodes the usual messages of ShouldRateLimit directly. The generic functions of proto-loader copy each message
 * several times, which costs more than the decision. The generic functions still handle all other messages, including invalid
 * ones, so both implementations must agree.
 */
import type { MethodDefinition } from '@grpc/grpc-js';
import type { RateLimitRequest, RateLimitResponse, Status } from './proto.ts';

type Method = MethodDefinition<RateLimitRequest, RateLimitResponse>;
type Descriptor = RateLimitRequest['descriptors'][number];
type Entry = Descriptor['entries'][number];

/** Returns the method with faster functions for decoding and encoding messages. */
export function withFastCodec(method: Method): Method {
  return {
    ...method,
    requestDeserialize: (bytes) => decodeRequest(bytes) ?? method.requestDeserialize(bytes),
    responseSerialize: (response) => encodeResponse(response) ?? method.responseSerialize(response),
  };
}

/** Tags on the wire: the field number and its type (0: an integer, 2: a length followed by bytes). */
const BYTES_1 = (1 << 3) | 2;
const BYTES_2 = (2 << 3) | 2;
const BYTES_3 = (3 << 3) | 2;
const BYTES_4 = (4 << 3) | 2;
const NUMBER_1 = 1 << 3;
const NUMBER_2 = 2 << 3;
const NUMBER_3 = 3 << 3;

/** Where the last call of `readLength` stopped reading. */
let position = 0;

/**
 * Reads a length that is encoded in one or two bytes. Returns -1 if its encoding is longer, or if the field would extend beyond
 * `end`.
 */
function readLength(bytes: Buffer, at: number, end: number): number {
  if (at >= end) return -1;
  let length = bytes[at++];
  if (length > 127) {
    if (at >= end || bytes[at] > 127) return -1;
    length = (length & 127) | (bytes[at++] << 7);
  }
  position = at;
  return at + length > end ? -1 : length;
}

/** Returns undefined for a message that contains anything other than `domain` and descriptors with entries. */
export function decodeRequest(bytes: Buffer): RateLimitRequest | undefined {
  const descriptors: Descriptor[] = [];
  let domain = '';
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at];
    const length = readLength(bytes, at + 1, bytes.length);
    if (length < 0) return undefined;
    at = position + length;
    if (tag === BYTES_1) domain = bytes.toString('utf8', position, at);
    else if (tag === BYTES_2) {
      const entries = decodeEntries(bytes, position, at);
      if (entries === undefined) return undefined;
      descriptors.push({ entries, limit: null, hitsAddend: null, isNegativeHits: false });
    } else return undefined;
  }
  return { domain, descriptors, hitsAddend: 0 };
}

function decodeEntries(bytes: Buffer, start: number, end: number): Entry[] | undefined {
  const entries: Entry[] = [];
  for (let at = start; at < end; ) {
    const tag = bytes[at];
    const length = readLength(bytes, at + 1, end);
    if (tag !== BYTES_1 || length < 0) return undefined;
    at = position + length;
    const entry = decodeEntry(bytes, position, at);
    if (entry === undefined) return undefined;
    entries.push(entry);
  }
  return entries;
}

function decodeEntry(bytes: Buffer, start: number, end: number): Entry | undefined {
  let key = '';
  let value = '';
  for (let at = start; at < end; ) {
    const tag = bytes[at];
    const length = readLength(bytes, at + 1, end);
    if (length < 0) return undefined;
    at = position + length;
    const text = bytes.toString('utf8', position, at);
    if (tag === BYTES_1) key = text;
    else if (tag === BYTES_2) value = text;
    else return undefined;
  }
  return { key, value };
}

/** Maximum number of statuses in a response that is encoded here. proto-loader encodes responses with more statuses. */
const MAX_STATUSES = 32;
/** The buffer in which responses are encoded. It is large enough, because a status or header takes at most 45 bytes. */
const scratch = Buffer.allocUnsafe(4096);
const CODES = { OK: 1, OVER_LIMIT: 2 } as const;
/** Names of the enum `Unit` in ratelimit.proto, ordered by their numbers. */
const UNITS = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'];

/** Returns undefined for a response with named limits, with metadata, or with many statuses. */
export function encodeResponse(response: RateLimitResponse): Buffer | undefined {
  const { overallCode, statuses, responseHeadersToAdd, dynamicMetadata } = response;
  if (dynamicMetadata !== undefined || statuses.length > MAX_STATUSES) return undefined;
  let at = writeNumber(0, NUMBER_1, CODES[overallCode]);
  for (const status of statuses) {
    if (status.currentLimit !== undefined && status.currentLimit.name !== '') return undefined;
    const start = at + 2;
    at = closed(BYTES_2, start, writeStatus(start, status));
  }
  for (const { key, value } of responseHeadersToAdd) {
    const start = at + 2;
    at = closed(BYTES_3, start, writeText(writeText(start, BYTES_1, key), BYTES_2, value));
  }
  return Buffer.from(scratch.subarray(0, at));
}

function writeStatus(from: number, status: Status): number {
  const { code, currentLimit, limitRemaining, durationUntilReset } = status;
  let at = writeNumber(from, NUMBER_1, CODES[code]);
  if (currentLimit !== undefined) {
    const start = at + 2;
    const end = writeNumber(start, NUMBER_1, currentLimit.requestsPerUnit >>> 0);
    at = closed(BYTES_2, start, writeNumber(end, NUMBER_2, UNITS.indexOf(currentLimit.unit)));
  }
  at = writeNumber(at, NUMBER_3, limitRemaining >>> 0);
  if (durationUntilReset === undefined) return at;
  const start = at + 2;
  return closed(BYTES_4, start, writeNumber(start, NUMBER_1, durationUntilReset.seconds));
}

/** Writes the tag and the length of a message, which has fewer than 128 bytes, into the two bytes before the message. */
function closed(tag: number, start: number, end: number): number {
  scratch[start - 2] = tag;
  scratch[start - 1] = end - start;
  return end;
}

/** `value` must be ASCII. */
function writeText(at: number, tag: number, value: string): number {
  return closed(tag, at + 2, at + 2 + scratch.write(value, at + 2, 'latin1'));
}

/** As in every proto3 message, 0 is not written. */
function writeNumber(from: number, tag: number, value: number): number {
  if (value === 0) return from;
  let at = from;
  scratch[at++] = tag;
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) scratch[at++] = (rest % 128) | 128;
  scratch[at++] = rest;
  return at;
}
