// Uses the entries that a page or a worker can use, without Node's types. This file is only compiled, never run.
import { createLimiter, type Decision } from 'sluice';
import { withRateLimit } from 'sluice/fetch';
import { limitedFetch } from 'sluice/http';
import { manualClock } from 'sluice/testing';

export const decision: Decision = createLimiter('10/s').take('alice');
export const handler: (request: Request) => Promise<Response> = withRateLimit(
  { limiter: createLimiter('10/s'), key: ({ request }) => request.url },
  () => new Response('ok'),
);
export const polite: typeof fetch = limitedFetch(fetch, { limiter: createLimiter('10/s') });
export const now: number = manualClock().now();
