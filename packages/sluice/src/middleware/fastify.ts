/** Fastify 5: a plugin for the context it is registered in and all below it; at the root, for every route. */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Decision } from '../engine/contract.ts';
import { createGuard, type Guard, type GuardOptions, type Verdict, type View } from '../http/index.ts';
import { fastifyAddress } from './shared/framework-address.ts';
import { carryOut } from './shared/node.ts';
import { guardForAll, type RouteLimits, withRouteLimits } from './shared/route-limits.ts';

export interface FastifyRateLimitOptions extends GuardOptions<FastifyRequest> {
  /** False: only routes with a `rateLimit` in their config; `{}` there means the plugin's limits. Default true. */
  readonly global?: boolean | undefined;
  /** When to check. Later than 'onRequest' (default): for keys that need authentication or the body. */
  readonly hook?: 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler' | undefined;
}

export type { RouteLimits } from './shared/route-limits.ts';

/** In a route's config. False: no limit of any kind. */
export type FastifyRouteLimits = RouteLimits<FastifyRequest> | false;

declare module 'fastify' {
  interface FastifyContextConfig {
    rateLimit?: FastifyRouteLimits | undefined;
  }
  interface FastifyRequest {
    /** What was decided; undefined where nothing was, or not yet. */
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
  // Where several are registered, all check, but the limits of a route count once: with the first.
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
    // A request that no route fits may have no config.
    const config = request.routeOptions.config as { rateLimit?: FastifyRouteLimits } | undefined;
    const verdict = guardOf(config?.rateLimit)?.(request);
    if (verdict instanceof Promise)
      verdict.then((later) => void (carriesOn(later, request, reply) && next()), next);
    else if (verdict === undefined || carriesOn(verdict, request, reply)) next();
  }

  // Mistakes in a route's config come to light when it is defined, not when it is asked.
  app.addHook('onRoute', ({ config }) => void guardOf(config?.rateLimit));
  if (hook === 'preParsing')
    app.addHook(hook, (request, reply, _payload, next) => check(request, reply, next));
  else app.addHook(hook as 'onRequest', check);
}

function carriesOn(verdict: Verdict, request: FastifyRequest, reply: FastifyReply): boolean {
  if (verdict.decision !== undefined) request.rateLimit = verdict.decision;
  return carryOut(
    verdict,
    reply.raw,
    ({ status, type, body }) => void reply.code(status).type(type).send(body),
    (name, value) => reply.header(lowerCase(name), value),
  );
}

/** Fastify keys headers by it. The few names there are, made once: a new string for each request would show. */
function lowerCase(name: string): string {
  const lower = NAMES.get(name) ?? name.toLowerCase();
  NAMES.set(name, lower);
  return lower;
}

const NAMES = new Map<string, string>();

/** `app.register(rateLimit, { limiter })`. Marked as fastify-plugin does, so that it limits the context around it. */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions> = Object.assign(plugin, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'sluice',
  [Symbol.for('plugin-meta')]: { name: 'sluice', fastify: '5.x' },
});
