import { type AnyLimiter, createLimiter, minInterval, type Policy, slidingLog, type Store } from 'sluice';

interface Limitation {
  key: string;
  max?: number;
  duration?: number;
  minInterval?: number;
}

export function createRateLimiterService(store: Store) {
  const limiters = new Map<string, AnyLimiter>();

  function attempt(name: string, policy: Policy, actor: string) {
    const id = JSON.stringify([name, policy.params]);
    const limiter = limiters.get(id) ?? createLimiter(policy, { store, name });
    limiters.set(id, limiter);
    return limiter.take(actor, { mode: 'always' });
  }

  /** Resolves to null if the attempt passed, otherwise to the reason and the wait in milliseconds. */
  return async function limit(limitation: Limitation, actor: string, factor = 1) {
    const { key, max, duration, minInterval: interval } = limitation;
    if (interval !== undefined) {
      const policy = minInterval({ every: `${interval * factor}ms` });
      const { allowed, retryAfter } = await attempt(`misskey min ${key}`, policy, actor);
      if (!allowed) return { code: 'BRIEF_REQUEST_INTERVAL', retryAfter };
    }
    if (max !== undefined && duration !== undefined) {
      const policy = slidingLog({ limit: Math.ceil(max / factor), per: duration || 3_600_000 });
      const { allowed, retryAfter } = await attempt(`misskey max ${key}`, policy, actor);
      if (!allowed) return { code: 'RATE_LIMIT_EXCEEDED', retryAfter };
    }
    return null;
  };
}
