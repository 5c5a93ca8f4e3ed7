/** The routes of the HTTP listener. */
import type { IncomingMessage } from 'node:http';
import type { MaybePromise } from 'sluice';
import { EXPOSITION_TYPE } from 'sluice/prometheus';
import type { Core } from '../../core/core.ts';
import type { Grant, TokenVerb } from '../grants.ts';
import type { ListenerOptions } from '../listener.ts';
import { isAdmin } from './access.ts';
import { answerJson } from './envoy-json.ts';
import { forwardAuthRoute } from './forward-auth.ts';
import { hitsRoute } from './hits.ts';
import { OPENAPI } from './openapi.ts';
import { pageFiles } from './page.ts';
import { probesOf } from './readiness.ts';
import { HttpProblem, json, type Reply, text } from './reply.ts';
import { showConfig } from './rlconfig.ts';
import { V1_VERBS, type Verb } from './operations.ts';
import { answerMany, answerV1, type V1Options } from './v1.ts';

export interface Route {
  readonly method: 'GET' | 'POST';
  /** The verb that a client needs to use the route. Undefined for a route that is open to everyone. */
  readonly verb: TokenVerb | undefined;
  /** Statuses of responses to clients that may use the route, for metrics. A route with a verb can also answer 500. */
  readonly statuses: readonly number[];
  /**
   * Whether the request has a header that no web page can make a browser send to another site, so that it must come from a proxy.
   * The origin of such a request is not checked, because the proxy may have copied its Origin header from a client. Default:
   * every origin is checked.
   */
  isFromProxy?(request: IncomingMessage): boolean;
  /**
   * Answers a request from a client that may use the route's verb. `query` is the text after '?' in the URL, `body` is the parsed
   * body of a POST request, and `grant` is what the client may do.
   */
  answer(request: IncomingMessage, query: string, body: unknown, grant: Grant): MaybePromise<Reply>;
}

const MAX_OPERATIONS = 1000;
/** Statuses of routes that ask the core. */
const ASKING: readonly number[] = [200, 400, 404, 413, 429, 503];
/** Statuses of clients that may not use a route, and of faults of the server. */
const REFUSALS: readonly number[] = [401, 403, 429, 500];

/** All statuses of a route. */
export function statusesOf({ verb, statuses }: Route): ReadonlySet<number> {
  return new Set(verb === undefined ? statuses : [...statuses, ...REFUSALS]);
}

export function routesOf(core: Core, options: ListenerOptions): ReadonlyMap<string, Route> {
  const { maxKey, isHealthy, isStoreReady = async () => true, live, log } = options;

  function optionsOf(request: IncomingMessage, query: string, grant: Grant): V1Options {
    return { maxKey, maxBatch: MAX_OPERATIONS, log, grant, request, denied: statusOfDenial(query) };
  }

  function verbRoute(verb: Verb): [path: string, route: Route] {
    const answer: Route['answer'] = (request, query, body, grant) =>
      answerV1(core, verb, body, optionsOf(request, query, grant));
    return [`/v1/${verb}`, { method: 'POST', verb, statuses: ASKING, answer }];
  }

  return new Map<string, Route>([
    ...V1_VERBS.map(verbRoute),
    [
      '/v1/take-many',
      {
        method: 'POST',
        verb: 'take',
        statuses: ASKING,
        answer: (request, query, body, grant) => answerMany(core, body, optionsOf(request, query, grant)),
      },
    ],
    ['/v1/forward-auth', forwardAuthRoute(core, options)],
    ...(options.remote === true ? ([['/v1/hits', hitsRoute(core, log)]] as const) : []),
    ['/v1/limits', get('config', () => json(limitsOf(core)))],
    [
      '/json',
      {
        method: 'POST',
        verb: 'take',
        statuses: ASKING,
        answer: (_request, _query, body, grant) => answerJson(core, body, maxKey, grant),
      },
    ],
    ['/rlconfig', get('config', () => text(showConfig(core.config, core.isShadow)))],
    ['/metrics', get('metrics', () => text(core.metrics.text(), 200, EXPOSITION_TYPE))],
    ...(live === undefined
      ? []
      : ([['/live', get('live', (request) => live.reply(isAdmin(request, options)), [503])]] as const)),
    // 500 tells load balancers to send requests elsewhere, as in envoyproxy/ratelimit.
    ['/healthcheck', publicGet(() => (isHealthy() ? text('OK') : text('not ready', 500)), [200, 500])],
    ...[...probesOf({ isHealthy, isStoreReady })].map(
      ([path, probe]) => [path, publicGet((_request, query) => probe(query), [200, 503])] as const,
    ),
    ['/openapi.json', publicGet(() => text(OPENAPI, 200, 'application/json; charset=utf-8'))],
    ...pageRoutes(options.page),
  ]);
}

/** The status that the client wants for a denied take. */
function statusOfDenial(query: string): number {
  if (query === '') return 200;
  const status = new URLSearchParams(query).get('status') ?? '200';
  if (status !== '200' && status !== '429')
    throw new HttpProblem('bad-request', `status must be 200 or 429; got ${status.slice(0, 40)}`);
  return Number(status);
}

function pageRoutes(folder: string | undefined): [path: string, route: Route][] {
  return [...pageFiles(folder)].map(([path, file]) => {
    const answer: Route['answer'] = ({ headers }) =>
      file(String(headers['accept-encoding'] ?? ''), headers['if-none-match'] ?? '');
    return [path, publicGet(answer, [])];
  });
}

/** The limits of the configuration, for the page and for people. */
function limitsOf({ config, isShadow }: Core): unknown {
  return [...config.limits.values()].map(
    ({ name, text: policies, tiers, classes, overrides, mode, shadow }) => ({
      name,
      policies,
      tiers: Object.keys(tiers),
      classes: Object.keys(classes),
      overrides: overrides.length,
      mode,
      shadow: isShadow || shadow,
    }),
  );
}

const get = (verb: TokenVerb, answer: Route['answer'], statuses = [200]): Route => ({
  method: 'GET',
  verb,
  statuses,
  answer,
});
const publicGet = (answer: Route['answer'], statuses = [200]): Route => ({
  method: 'GET',
  verb: undefined,
  statuses,
  answer,
});
