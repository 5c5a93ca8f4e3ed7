/** Message types of the gRPC listener, and its service definitions for grpc-js. */
import { fileURLToPath } from 'node:url';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly {
    readonly entries: readonly { readonly key: string; readonly value: string }[];
    readonly limit: { readonly requestsPerUnit: number; readonly unit: string | number } | null;
    readonly hitsAddend: { readonly value: number } | null;
    readonly isNegativeHits: boolean;
  }[];
  readonly hitsAddend: number;
}

export interface Status {
  readonly code: 'OK' | 'OVER_LIMIT';
  readonly currentLimit?:
    | { readonly name: string; readonly requestsPerUnit: number; readonly unit: string }
    | undefined;
  readonly limitRemaining: number;
  readonly durationUntilReset?: { readonly seconds: number } | undefined;
}

export interface RateLimitResponse {
  readonly overallCode: 'OK' | 'OVER_LIMIT';
  readonly statuses: readonly Status[];
  readonly responseHeadersToAdd: readonly { readonly key: string; readonly value: string }[];
  /** Metadata for Envoy's other filters, as a google.protobuf.Struct. */
  readonly dynamicMetadata?: { readonly fields: Readonly<Record<string, unknown>> } | undefined;
}

export interface HealthRequest {
  readonly service: string;
}

export interface HealthResponse {
  readonly status: 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
}

export const RATE_LIMIT = 'envoy.service.ratelimit.v3.RateLimitService';

export function loadServices(): { rateLimit: ServiceDefinition; health: ServiceDefinition } {
  const folder = fileURLToPath(new URL('../../../proto', import.meta.url));
  const loaded = loadSync(['ratelimit.proto', 'health.proto'], {
    includeDirs: [folder],
    defaults: true,
    arrays: true,
    enums: String,
    longs: Number,
  });
  return {
    rateLimit: loaded[RATE_LIMIT] as ServiceDefinition,
    health: loaded['grpc.health.v1.Health'] as ServiceDefinition,
  };
}

/** Services with a health status. '' is the whole server, and 'ratelimit' is the name that envoyproxy/ratelimit uses. */
export const SERVICES: readonly string[] = ['', 'ratelimit', RATE_LIMIT];
