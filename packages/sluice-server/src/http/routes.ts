/** Which path does what. */
import type { IncomingMessage } from 'node:http';
import type { Core } from '../core/core.ts';
import type { DoorOptions } from '../door.ts';
import { EXPOSITION_TYPE } from '../metrics/exposition.ts';
import { readJson } from './body.ts';
import { answerJson } from './envoy-json.ts';
import { OPENAPI } from './openapi.ts';
import { PAGE } from './page.ts';
import { HttpProblem, json, type Reply, text } from './reply.ts';
import { showConfig } from './rlconfig.ts';
import type { Verb } from './questions.ts';
import { answerV1 } from './v1.ts';

export interface Route {
  readonly method: 'GET' | 'POST';
  /** Anybody may ask: no token, no origin. */
  readonly isOpen: boolean;
  answer(request: IncomingMessage, query: URLSearchParams): Reply | Promise<Reply>;
}

const MOST_QUESTIONS = 1000;
const CLOSED_PAGE = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

export function routesOf(core: Core, options: DoorOptions): ReadonlyMap<string, Route> {
  const { maxMessage, maxKey, isHealthy } = options;

  function verb(name: Verb): Route {
    return post(async (request, query) => {
      const status = query.get('status') ?? '200';
      if (status !== '200' && status !== '429')
        throw new HttpProblem('bad-request', 'status must be 200 or 429');
      const body = await readJson(request, maxMessage);
      return answerV1(core, name, body, { maxKey, maxBatch: MOST_QUESTIONS, denied: Number(status) });
    });
  }

  return new Map<string, Route>([
    ['/v1/take', verb('take')],
    ['/v1/peek', verb('peek')],
    ['/v1/refund', verb('refund')],
    ['/v1/block', verb('block')],
    ['/v1/reset', verb('reset')],
    ['/v1/limits', get(() => json(limitsOf(core)))],
    ['/json', post(async (request) => answerJson(core, await readJson(request, maxMessage), maxKey))],
    ['/rlconfig', get(() => text(showConfig(core.config)))],
    ['/metrics', get(() => text(core.metrics.text(), 200, EXPOSITION_TYPE))],
    // As the original: 500 tells a load balancer to go elsewhere.
    ['/healthcheck', open(() => (isHealthy() ? text('OK') : text('draining', 500)))],
    ['/openapi.json', open(() => text(OPENAPI, 200, 'application/json; charset=utf-8'))],
    ['/', open(() => page())],
  ]);
}

function page(): Reply {
  const headers = [['Content-Security-Policy', CLOSED_PAGE]] as const;
  return { ...text(PAGE, 200, 'text/html; charset=utf-8'), headers };
}

/** For the page, and for people. */
function limitsOf({ config }: Core): unknown {
  return [...config.limits.values()].map(({ name, text: policies, tiers, overrides, mode, shadow }) => ({
    name,
    policies,
    tiers: Object.keys(tiers),
    overrides: overrides.length,
    mode,
    shadow,
  }));
}

const get = (answer: Route['answer']): Route => ({ method: 'GET', isOpen: false, answer });
const post = (answer: Route['answer']): Route => ({ method: 'POST', isOpen: false, answer });
const open = (answer: Route['answer']): Route => ({ method: 'GET', isOpen: true, answer });
