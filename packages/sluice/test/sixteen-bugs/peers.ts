/**
 * Shows that other limiters, at the versions that the benchmarks pin, have the bug in question. If a newer version has fixed it,
 * the test fails, and docs/sixteen-bugs.md must be updated.
 */
import { createRequire } from 'node:module';
import type { Redis } from 'ioredis';
import { test } from 'vitest';

const load = createRequire(new URL('../../../../benchmarks/package.json', import.meta.url));

/** The versions that the benchmarks pin. */
const { devDependencies: versions } = load('./package.json') as { devDependencies: Record<string, string> };

/** Declares a test of another limiter. `T` is the part of the package that the test uses. */
export function peer<T>(name: string, fault: string, show: (its: T) => unknown): void {
  test(`${name} ${versions[name]}: ${fault}`, async () => {
    await show(load(name) as T);
  });
}

/** Loads a dependency of a peer: the same instance that the peer loads. */
export function partOf<T>(name: string): T {
  return load(name) as T;
}

export interface Flexible {
  RateLimiterMemory: new (options: FlexibleOptions) => FlexibleLimiter;
  RateLimiterRedis: new (options: FlexibleOptions & { storeClient: Redis }) => FlexibleLimiter;
  RateLimiterUnion: new (...limiters: FlexibleLimiter[]) => Pick<FlexibleLimiter, 'consume'>;
}

interface FlexibleOptions {
  readonly points: number;
  /** In seconds. */
  readonly duration: number;
  readonly keyPrefix?: string;
}

interface FlexibleLimiter {
  /** Rejects if denied. */
  consume(key: string, points?: number): Promise<{ remainingPoints: number }>;
  reward(key: string, points?: number): Promise<unknown>;
  get(key: string): Promise<{ remainingPoints: number; consumedPoints: number } | null>;
}

/** How many of `calls` sequential calls are allowed. */
export async function admitted(
  limiter: Pick<FlexibleLimiter, 'consume'>,
  key: string,
  calls: number,
): Promise<number> {
  let passed = 0;
  for (let i = 0; i < calls; i++) {
    const allowed = await limiter.consume(key).then(
      () => true,
      () => false,
    );
    if (allowed) passed++;
  }
  return passed;
}

/** A store of express-rate-limit, also used by other packages. */
export interface HitStore {
  init(options: { windowMs: number }): unknown;
  increment(key: string): Promise<{ totalHits: number }> | { totalHits: number };
  decrement(key: string): unknown;
  resetKey(key: string): unknown;
}

export interface RateLimitRedis {
  RedisStore: new (options: {
    sendCommand: (...words: string[]) => Promise<unknown>;
    prefix: string;
  }) => HitStore;
}

export interface Rolling {
  IORedisRateLimiter: new (options: {
    client: Redis;
    namespace: string;
    interval: number;
    maxInInterval: number;
  }) => RollingLimiter;
  InMemoryRateLimiter: new (options: { interval: number; maxInInterval: number }) => RollingLimiter;
}

interface RollingLimiter {
  /** Resolves to whether the key is blocked. */
  limit(key: string): Promise<boolean>;
  clear(key: string): Promise<void>;
}

export interface FastifyStore {
  incr(
    key: string,
    done: (error: Error | null, result: { current: number; ttl: number }) => void,
    timeWindow: number,
    max: number,
  ): void;
}

export function incr(store: FastifyStore, key: string, timeWindow: number, max: number) {
  return new Promise<{ current: number; ttl: number }>((resolve, reject) => {
    store.incr(key, (error, result) => (error === null ? resolve(result) : reject(error)), timeWindow, max);
  });
}

export interface FastifyStores {
  local: new (continueExceeding: boolean, exponentialBackoff: boolean, cache?: number) => FastifyStore;
  redis: new (
    continueExceeding: boolean,
    exponentialBackoff: boolean,
    client: Redis,
    prefix: string,
  ) => FastifyStore;
}

export function fastifyStores(): FastifyStores {
  return {
    local: load('@fastify/rate-limit/store/LocalStore.js') as FastifyStores['local'],
    redis: load('@fastify/rate-limit/store/RedisStore.js') as FastifyStores['redis'],
  };
}

export interface Upstash {
  Ratelimit: {
    new (options: {
      redis: unknown;
      limiter: unknown;
      prefix: string;
      ephemeralCache?: Map<string, number> | false;
    }): UpstashLimiter;
    fixedWindow(tokens: number, window: string): unknown;
    cachedFixedWindow(tokens: number, window: string): unknown;
  };
}

interface UpstashLimiter {
  limit(key: string): Promise<{ success: boolean; pending: Promise<unknown> }>;
  resetUsedTokens(key: string): Promise<void>;
}

/** Replaces Upstash's client: sends its scripts to a plain Redis, without the first line, which only Upstash supports. */
export function upstashClient(client: Redis): unknown {
  return {
    evalsha: () => Promise.reject(new Error('NOSCRIPT')),
    eval: (script: string, keys: string[], args: unknown[]) =>
      client.eval(script.replace(/^#!.*/, ''), keys.length, ...keys, ...args.map(String)),
  };
}
