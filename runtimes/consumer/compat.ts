// An application that uses the drop-ins. It is only compiled, by packages/sluice/test/packaging/typescripts.test.ts.
import { RateLimiter } from 'sluice-compat/guava';
import { createClThrottle } from 'sluice-compat/redis-cell';
import { RateLimiterMemory, type RateLimiterRes } from 'sluice-compat/rate-limiter-flexible';
import { createSkRateLimiterService, type LimitInfo } from 'sluice-compat/sharkey';
import { createGcraRateLimiter, perMin } from 'sluice-compat/throttled';

const info: Promise<LimitInfo> = createSkRateLimiterService().limit(
  { type: 'bucket', key: 'k', size: 5 },
  'alice',
);
const [limited]: [0 | 1, ...number[]] = createClThrottle()('k', 15, 30, 60);
const waited: Promise<number> = RateLimiter.create(5, { warmup: '3s' }).acquire();
const result: boolean = createGcraRateLimiter({ quota: { maxRate: perMin(20), maxBurst: 5 } }).rateLimit(
  'k',
).limited;
const points: Promise<RateLimiterRes> = new RateLimiterMemory({ points: 5, duration: 1 }).consume('k');

export { info, limited, points, result, waited };
