/** Tests that the direct decoder and encoder of gRPC messages agree with those of proto-loader. */
import type { MethodDefinition } from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeRequest, encodeResponse } from '../../../src/listeners/grpc/codec.ts';
import {
  loadServices,
  type RateLimitRequest,
  type RateLimitResponse,
} from '../../../src/listeners/grpc/proto.ts';

const method = loadServices().rateLimit['ShouldRateLimit'] as MethodDefinition<
  RateLimitRequest,
  RateLimitResponse
>;

const text = fc.string({ unit: 'binary', maxLength: 200 });
const entry = fc.record({ key: text, value: text });
const entries = fc.array(entry, { maxLength: 4 });
const usual = fc.record({ entries }, { noNullPrototype: true });
const unusual = fc.record(
  {
    entries,
    limit: fc.record({
      requestsPerUnit: fc.nat(),
      unit: fc.constantFrom('UNKNOWN', 'SECOND', 'WEEK', 'YEAR'),
    }),
    hitsAddend: fc.record({ value: fc.nat() }),
    isNegativeHits: fc.boolean(),
  },
  { requiredKeys: ['entries'], noNullPrototype: true },
);

function bytesOf(request: object): Buffer {
  return method.requestSerialize(request as RateLimitRequest);
}

describe('a request', () => {
  test('that has only a domain and descriptors with entries is decoded directly, to the message that proto-loader would produce', () => {
    const request = fc.record(
      { domain: text, descriptors: fc.array(usual, { maxLength: 5 }) },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(request, (given) => {
        const bytes = bytesOf(given);
        expect(decodeRequest(bytes)).toEqual(method.requestDeserialize(bytes));
      }),
    );
  });

  test('that has fields besides its domain and entries is left to proto-loader, or decoded to the message that proto-loader would produce', () => {
    const request = fc.record(
      { domain: text, descriptors: fc.array(unusual, { maxLength: 5 }), hitsAddend: fc.nat() },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(request, (given) => {
        const bytes = bytesOf(given);
        const direct = decodeRequest(bytes);
        if (direct !== undefined) expect(direct).toEqual(method.requestDeserialize(bytes));
      }),
    );
    expect(decodeRequest(bytesOf({ domain: 'a', hitsAddend: 2 }))).toBeUndefined();
    expect(decodeRequest(bytesOf({ descriptors: [{ entries: [], isNegativeHits: true }] }))).toBeUndefined();
  });

  test('that is damaged is left to proto-loader, or decoded to the message that proto-loader would produce', () => {
    const request = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] };
    const whole = [...bytesOf(request)];
    const change = fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255), length: fc.nat(whole.length) });
    fc.assert(
      fc.property(change, ({ at, to, length }) => {
        const bytes = Buffer.from(whole.with(at, to).slice(0, length));
        const direct = decodeRequest(bytes);
        if (direct !== undefined) expect(direct).toEqual(method.requestDeserialize(bytes));
      }),
      { numRuns: 5000 },
    );
  });
});

describe('a response', () => {
  const uint32 = fc.nat({ max: 2 ** 32 - 1 });
  const status = fc.record(
    {
      code: fc.constantFrom('OK' as const, 'OVER_LIMIT' as const),
      currentLimit: fc.record({
        name: fc.constant(''),
        requestsPerUnit: uint32,
        unit: fc.constantFrom('UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'),
      }),
      limitRemaining: uint32,
      durationUntilReset: fc.record({ seconds: fc.maxSafeNat() }),
    },
    { requiredKeys: ['code', 'limitRemaining'], noNullPrototype: true },
  );
  const header = fc.record({
    key: fc.constantFrom('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'),
    value: fc.maxSafeNat().map(String),
  });

  test('without names and metadata is encoded directly, to the message that proto-loader would produce', () => {
    const response = fc.record({
      overallCode: fc.constantFrom('OK' as const, 'OVER_LIMIT' as const),
      statuses: fc.array(status, { maxLength: 32, size: 'max' }),
      responseHeadersToAdd: fc.array(header, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(response, (given) => {
        const direct = encodeResponse(given);
        expect(method.responseDeserialize(direct ?? Buffer.alloc(0))).toEqual(
          method.responseDeserialize(method.responseSerialize(given)),
        );
      }),
    );
  });

  test('with a named limit, with metadata or with many statuses is left to proto-loader', () => {
    const plain = { code: 'OK', limitRemaining: 1 } as const;
    const named = { ...plain, currentLimit: { name: 'a', requestsPerUnit: 1, unit: 'DAY' } };
    const response = { overallCode: 'OK', statuses: [], responseHeadersToAdd: [] } as const;
    for (const unusualPart of [
      { statuses: [named] },
      { dynamicMetadata: { fields: {} } },
      { statuses: Array(33).fill(plain) },
    ])
      expect(encodeResponse({ ...response, ...unusualPart })).toBeUndefined();
  });
});
