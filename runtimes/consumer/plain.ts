// An application that uses the package. It is only compiled, by packages/sluice/test/packaging/typescripts.test.ts.
import { createServer } from 'node:http';
import {
  type AnyLimiter,
  type AsyncLimiter,
  casStore,
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leased,
  type Limiter,
  memory,
  penalty,
  SluiceError,
  type Store,
} from 'sluice';
import type { CasService } from 'sluice/store';
import { rateLimit as express } from 'sluice/express';
import { withRateLimit } from 'sluice/fetch';
import { clientAddress, key, limitedFetch, rateLimitHeaders } from 'sluice/http';
import { ipc } from 'sluice/ipc';
import { rateLimit as koa } from 'sluice/koa';
import { withRateLimit as nodeHttp } from 'sluice/node-http';
import { migration, postgres } from 'sluice/postgres';
import { redis } from 'sluice/redis';
import { attachSharedMemory, sharedMemory } from 'sluice/shared-memory';
import { conformance, manualClock } from 'sluice/testing';
import { rateLimit as trpc, TooManyRequests } from 'sluice/trpc';

// The store decides whether verbs return decisions or promises.
const here: Limiter = createLimiter({
  second: '10/s burst 20',
  day: fixedWindow({ limit: 5000, per: '1d' }),
});
const atOnce: Decision = here.take('alice', { cost: 2, mode: 'partial' });
const there: AsyncLimiter<'pro'> = createLimiter(gcra({ limit: 100, per: '1m' }), {
  store: redis({ send: async () => null }, { deadline: 100, onFailure: here, denyCache: true }),
  name: 'api',
  tiers: { pro: '1000/min' },
});
const later: Promise<Decision> = there.take('alice', { tier: 'pro' });
// @ts-expect-error: a promise is not a decision.
const wrong: Decision = there.take('alice');
// @ts-expect-error: a misspelled option.
gcra({ limit: 10, per: '1s', brust: 20 });

// Tier names are inferred from the literal. If tiers are known only at run time, any name is accepted.
void there.take('alice', { tier: undefined });
// @ts-expect-error: a misspelled tier.
void there.take('alice', { tier: 'porr' });
const tiered = createLimiter('10/s', { tiers: { pro: '100/s', team: ['1000/s', '1000000/day'] } });
tiered.take('alice', { tier: 'team', cost: 2 });
void tiered.acquire('alice', { tier: 'pro', timeout: 0 });
// @ts-expect-error: a misspelled tier.
tiered.take('alice', { tier: 'porr' });
// @ts-expect-error: a misspelled tier.
tiered.reserve('alice', { tier: 'porr' });
// @ts-expect-error: a misspelled tier.
void tiered.run('alice', () => 1, { tier: 'porr' });
const loaded: Record<string, string> = JSON.parse('{}');
createLimiter('10/s', { tiers: loaded }).take('alice', { tier: 'any' });

// Like tier names, policy names are inferred from the literal. For text, lists and functions, any name is accepted.
const model = createLimiter(
  { requests: '10/s', tokens: fixedWindow({ limit: 100_000, per: '1m' }) },
  {
    tiers: { pro: { requests: '100/s' } },
    classes: { batch: { keep: 0.3 }, bulk: { keep: { tokens: 500 } } },
  },
);
const charge = model.take('alice', {
  cost: { requests: 1, tokens: 4200 },
  tier: 'pro',
  keep: { tokens: 0.3 },
});
model.take('alice', { cost: { tokens: 4200 }, class: 'batch' });
model.settle('alice', { used: { tokens: 3100 }, of: charge });
model.settle('alice', { charged: { tokens: 4200 }, used: 7, at: charge.at });
model.refund('alice', { cost: { tokens: 10 }, of: charge });
void model.run('alice', () => 'text', {
  cost: { tokens: 9 },
  settle: (text) => ({ tokens: text?.length ?? 0 }),
});
// @ts-expect-error: a misspelled policy.
model.take('alice', { cost: { tokns: 4200 } });
// @ts-expect-error: a misspelled policy.
model.take('alice', { cost: { tokens: 4200, request: 1 }, tier: 'pro' });
// @ts-expect-error: a misspelled policy.
model.peek('alice', { keep: { tokns: 0.3 } });
// @ts-expect-error: a misspelled policy.
model.refund('alice', { cost: { tokns: 10 }, of: charge });
// @ts-expect-error: a misspelled policy.
model.settle('alice', { used: { tokns: 3100 }, of: charge });
// @ts-expect-error: a misspelled policy.
model.settle('alice', { charged: { tokns: 4200 }, used: 7 });
// @ts-expect-error: a misspelled policy.
void model.acquire('alice', { cost: { tokns: 1 } });
// @ts-expect-error: a misspelled policy.
model.reserve('alice', { cost: { tokns: 1 } });
// @ts-expect-error: a misspelled policy.
void model.run('alice', () => 1, { settle: () => ({ tokns: 1 }) });
// @ts-expect-error: a part of a cost is a number.
model.take('alice', { cost: { tokens: '4200' } });
createLimiter('10/s & 1000/day').take('alice', { cost: { second: 1, day: 2 } });
createLimiter(['10/s', gcra({ limit: 10, per: '1h' })]).take('alice', { cost: { any: 1 } });
createLimiter(() => '10/s').take('alice', { cost: { any: 1 } });
createLimiter(loaded).take('alice', { cost: { any: 1 } });
const anyModel: AnyLimiter = model;
void anyModel.take('alice', { cost: { any: 1 }, tier: 'any', keep: { any: 0.5 } });
const exactModel: AnyLimiter<'pro', 'requests' | 'tokens'> = model;
// @ts-expect-error: a misspelled policy.
void exactModel.take('alice', { cost: { tokns: 1 } });
const modelThere = createLimiter({ tokens: '10/s' }, { store: memory(), name: 'model' });
// @ts-expect-error: a misspelled policy.
void modelThere.take('alice', { cost: { tokns: 1 } });
express({
  cost: (request) => ({ requests: 1, tokens: request.headers['x-tokens'] === undefined ? 1 : 100 }),
  settle: (_request, { status }) => (status === 401 ? { tokens: 0 } : undefined),
  limits: [{ limiter: model, class: (request) => (request.method === 'PUT' ? 'batch' : undefined) }],
});
createLimiter((name) => loaded[name] ?? '10/s').take('alice', { tier: 'any' });
const passed = (limiter: AnyLimiter, key: string) => limiter.take(key, { tier: 'any' });
const answers = [passed(here, 'alice'), passed(there, 'alice'), passed(tiered, 'alice')];
const anyOf: readonly AnyLimiter[] = [here, there, tiered];
const plainOf: Limiter = tiered;

const length: Promise<number> = createLimiter(concurrency({ limit: 2, lease: '30s' })).run(
  'k',
  () => 'text'.length,
);
const many: readonly Decision[] = here.takeMany([
  { key: 'user' },
  { key: 'address', limiter: here },
]).decisions;
const service: CasService<number> = { get: () => undefined, put: () => true };
const stores: readonly Store<Promise<Decision>>[] = [
  casStore(service),
  postgres({ query: async () => ({ rows: [] }) }),
  ipc({ path: '/run/limits.sock' }),
];
const often: Store = leased(redis({ send: async () => null }));
const { handle } = sharedMemory({ maxKeys: 1000 });
const shared: Limiter = createLimiter('10/s', { store: attachSharedMemory(handle), name: 'api' });

// Web handlers and middleware.
const handler: (request: Request, info: { remoteAddr: string }) => Promise<Response> = withRateLimit(
  { limiter: here, key: ({ request }) => key(request.method, request.url), settle: () => 3 },
  (_request, info: { remoteAddr: string }) => new Response(info.remoteAddr),
);
const polite: typeof fetch = limitedFetch(fetch, { limiter: there });
const pairs: readonly (readonly [string, string])[] = rateLimitHeaders(atOnce);
const address: string = clientAddress({ headers: {}, remoteAddress: '192.0.2.1' });
createServer(
  nodeHttp({ limiter: here, skip: (request) => request.url === '/health' }, (_, response) => response.end()),
);
createServer((request, response) => express(here)(request, response, () => response.end()));
const middlewares = [koa(here), trpc<{ user: string }>({ limiter: here, key: ({ ctx }) => ctx.user })];

// Helpers for the tests of an application.
const clock = manualClock();
const slow = createLimiter(
  { rate: '1/s', lockout: penalty({ after: 3, within: '1m', block: '5m' }) },
  {
    store: memory({ clock }),
  },
);
const claims: readonly { name: string; run(): Promise<void> }[] = conformance((time) =>
  memory({ clock: time }),
);
const codes = (error: unknown): string =>
  error instanceof SluiceError || error instanceof TooManyRequests ? error.code : 'none';

export {
  address,
  answers,
  anyOf,
  claims,
  codes,
  handler,
  later,
  length,
  many,
  middlewares,
  migration,
  often,
  pairs,
};
export { plainOf, polite, shared, slow, stores, wrong };
