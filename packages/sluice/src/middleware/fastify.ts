/**
 * A plugin for Fastify 4.10 and newer. It limits the context in which it is registered and all contexts below it. Registered at
 * the root, it limits every route.
 */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Decision } from '../engine/contract.ts';
import { createGuard, type Guard, type GuardOptions, type Verdict, type View } from '../http/index.ts';
import { fastifyAddress } from './shared/framework-address.ts';
import { carryOut } from './shared/node.ts';
import { guardForAll, type RouteLimits, withRouteLimits } from './shared/route-limits.ts';

/** The options of the plugin. */
export interface FastifyRateLimitOptions extends GuardOptions<FastifyRequest> {
  /**
   * If false, only routes with a `rateLimit` in their config are limited, and `rateLimit: {}` applies the plugin's limits to a
   * route. Default true.
   */
  readonly global?: boolean | undefined;
  /**
   * The hook in which requests are checked. Choose a later hook if the key needs authentication or the body. Default 'onRequest'.
   */
  readonly hook?: 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler' | undefined;
}

export type { RouteLimits } from './shared/route-limits.ts';

/** The `rateLimit` of a route's config: additional limits for the route, or `false` for no limit at all. */
export type FastifyRouteLimits = RouteLimits<FastifyRequest> | false;

declare module 'fastify' {
  interface FastifyContextConfig {
    rateLimit?: FastifyRouteLimits | undefined;
  }
  interface FastifyRequest {
    /** The decision on this request. Undefined if no limit applied or the request has not been checked yet. */
    rateLimit?: Decision | undefined;
  }
}

const view: View<FastifyRequest> = {
  addressed: ({ raw }) => raw,
  identity: ({ raw }) => raw,
  byFramework: fastifyAddress,
};

async function plugin(app: FastifyInstance, given: FastifyRateLimitOptions): Promise<void> {
  const { global = true, hook = 'onRequest', ...options } = given;
  const forAll = global ? createGuard(options, view) : void guardForAll(options, view);
  // If the plugin is registered several times, every instance checks requests, but only the first one adds the route's own
  // limits.
  const first = !app.hasRequestDecorator('rateLimit');
  if (first) app.decorateRequest('rateLimit', undefined);
  const guards = new WeakMap<object, Guard<FastifyRequest>>();

  function guardOf(route: FastifyRouteLimits | undefined): Guard<FastifyRequest> | undefined {
    if (route === undefined) return forAll;
    if (route === false) return undefined;
    let guard = guards.get(route);
    if (guard === undefined) {
      guard = createGuard(first ? withRouteLimits(options, [route]) : options, view);
      guards.set(route, guard);
    }
    return guard;
  }

  function check(request: FastifyRequest, reply: FastifyReply, next: (error?: Error) => void): void {
    // A request that matches no route may have no config.
    const config = request.routeOptions.config as { rateLimit?: FastifyRouteLimits } | undefined;
    const verdict = guardOf(config?.rateLimit)?.(request);
    if (verdict instanceof Promise)
      verdict.then((later) => void (applyVerdict(later, request, reply) && next()), next);
    else if (verdict === undefined || applyVerdict(verdict, request, reply)) next();
  }

  // Create the guard when the route is defined, so that invalid options fail at startup and not at the first request.
  app.addHook('onRoute', ({ config }) => void guardOf(config?.rateLimit));
  if (hook === 'preParsing')
    app.addHook(hook, (request, reply, _payload, next) => check(request, reply, next));
  else app.addHook(hook as 'onRequest', check);
}

function applyVerdict(verdict: Verdict, request: FastifyRequest, reply: FastifyReply): boolean {
  if (verdict.decision !== undefined) request.rateLimit = verdict.decision;
  return carryOut(
    verdict,
    reply.raw,
    ({ status, type, body }) => void reply.code(status).type(type).send(body),
    (name, value) => reply.header(lowerCase(name), value),
  );
}

/**
 * Returns the lowercase name under which Fastify stores a header. The few names are cached, because a new string per request
 * costs measurable time.
 */
function lowerCase(name: string): string {
  const lower = NAMES.get(name) ?? name.toLowerCase();
  NAMES.set(name, lower);
  return lower;
}

const NAMES = new Map<string, string>();

/**
 * The plugin, for use as in `app.register(rateLimit, { limiter })`. Like plugins made with fastify-plugin, it affects the context
 * that registers it instead of a new context.
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = Object.assign(plugin, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'sluice',
  [Symbol.for('plugin-meta')]: { name: 'sluice', fastify: '>=4.10' },
});
