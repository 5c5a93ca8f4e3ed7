/** The routes of the HTTP listener. */
import type { IncomingMessage } from 'node:http';
import type { MaybePromise } from 'sluice';
import { EXPOSITION_TYPE } from 'sluice/prometheus';
import type { Core } from '../../core/core.ts';
import type { ListenerOptions } from '../listener.ts';
import { answerJson } from './envoy-json.ts';
import { hitsRoute } from './hits.ts';
import { OPENAPI } from './openapi.ts';
import { pageFiles } from './page.ts';
import { HttpProblem, json, type Reply, text } from './reply.ts';
import { showConfig } from './rlconfig.ts';
import type { Verb } from './operations.ts';
import { answerV1 } from './v1.ts';

export interface Route {
  readonly method: 'GET' | 'POST';
  /** Clients that may use the route: all clients, those with access to the listener, or those that may reset and block keys. */
  readonly access: 'public' | 'client' | 'admin';
  /** `query`: the text after '?' in the URL. `body`: the parsed body of a POST request. */
  answer(request: IncomingMessage, query: string, body: unknown): MaybePromise<Reply>;
}

const MAX_OPERATIONS = 1000;

export function routesOf(core: Core, options: ListenerOptions): ReadonlyMap<string, Route> {
  const { maxKey, isHealthy, live } = options;

  function verb(name: Verb, access: Route['access'] = 'client'): Route {
    return {
      method: 'POST',
      access,
      answer: (_, query, body) =>
        answerV1(core, name, body, { maxKey, maxBatch: MAX_OPERATIONS, denied: statusOfDenial(query) }),
    };
  }

  return new Map<string, Route>([
    ['/v1/take', verb('take')],
    ['/v1/peek', verb('peek')],
    ['/v1/refund', verb('refund')],
    ['/v1/settle', verb('settle')],
    ['/v1/block', verb('block', 'admin')],
    ['/v1/reset', verb('reset', 'admin')],
    ...(options.remote === true ? ([['/v1/hits', hitsRoute(core)]] as const) : []),
    ['/v1/limits', get(() => json(limitsOf(core)))],
    [
      '/json',
      {
        method: 'POST',
        access: 'client',
        answer: (_request, _query, body) => answerJson(core, body, maxKey),
      },
    ],
    ['/rlconfig', get(() => text(showConfig(core.config)))],
    ['/metrics', get(() => text(core.metrics.text(), 200, EXPOSITION_TYPE))],
    ...(live === undefined ? [] : ([['/live', get(() => live.reply())]] as const)),
    // 500 tells load balancers to send requests elsewhere, as in envoyproxy/ratelimit.
    ['/healthcheck', publicGet(() => (isHealthy() ? text('OK') : text('draining', 500)))],
    ['/openapi.json', publicGet(() => text(OPENAPI, 200, 'application/json; charset=utf-8'))],
    ...pageRoutes(options.page),
  ]);
}

/** The status that the client wants for a denied take. */
function statusOfDenial(query: string): number {
  if (query === '') return 200;
  const status = new URLSearchParams(query).get('status') ?? '200';
  if (status !== '200' && status !== '429') throw new HttpProblem('bad-request', 'status must be 200 or 429');
  return Number(status);
}

function pageRoutes(folder: string | undefined): [path: string, route: Route][] {
  return [...pageFiles(folder)].map(([path, file]) => {
    const answer: Route['answer'] = ({ headers }) =>
      file(String(headers['accept-encoding'] ?? ''), headers['if-none-match'] ?? '');
    return [path, publicGet(answer)];
  });
}

/** The limits of the configuration, for the page and for people. */
function limitsOf({ config }: Core): unknown {
  return [...config.limits.values()].map(
    ({ name, text: policies, tiers, classes, overrides, mode, shadow }) => ({
      name,
      policies,
      tiers: Object.keys(tiers),
      classes: Object.keys(classes),
      overrides: overrides.length,
      mode,
      shadow,
    }),
  );
}

const get = (answer: Route['answer']): Route => ({ method: 'GET', access: 'client', answer });
const publicGet = (answer: Route['answer']): Route => ({ method: 'GET', access: 'public', answer });
