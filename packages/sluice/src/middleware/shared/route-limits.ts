/** Applies limits to individual routes, for frameworks whose routes have options. */
import {
  createGuard,
  type Guard,
  type GuardLimiter,
  type GuardOptions,
  type Limit,
  type View,
} from '../../http/index.ts';
import { listLimits } from '../../http/guard-options.ts';

/**
 * The limits of a route: a limiter, a limiter with its key and cost, or several of these. They apply in addition to the limits
 * for all routes.
 */
export type RouteLimits<Q> = GuardLimiter | (Partial<Limit<Q>> & Pick<GuardOptions<Q>, 'limits'>);

/** Combines the limits for all routes with those of one route, so that one check charges all of them or none. */
export function withRouteLimits<Q>(
  options: GuardOptions<Q>,
  routes: readonly RouteLimits<Q>[],
): GuardOptions<Q> {
  return { ...options, limits: [...(options.limits ?? []), ...routes.flatMap(limitsOf)] };
}

function limitsOf<Q>(route: RouteLimits<Q>): readonly Limit<Q>[] {
  // Anything that is not an object is passed on, and the guard rejects it.
  if (typeof route !== 'object' || route === null) return [route];
  if ('takeMany' in route) return [{ limiter: route }];
  return listLimits(route) as readonly Limit<Q>[];
}

/**
 * The guard for routes without limits of their own. Undefined if only routes have limits. The options are validated either way.
 */
export function guardForAll<Q>(options: GuardOptions<Q>, view: View<Q>): Guard<Q> | undefined {
  if ('limiter' in options || 'limits' in options) return createGuard(options, view);
  createGuard({ ...options, limits: [{ limiter: NONE }] }, view);
  return undefined;
}

const NONE = { takeMany() {} } as unknown as GuardLimiter;
