/** What a route says for itself, where a framework lets it. */
import {
  createGuard,
  type Guard,
  type GuardLimiter,
  type GuardOptions,
  type Limit,
  type View,
} from '../../http/index.ts';

/** A limiter alone; one with its key and cost; or several. They add to the limits for all routes. */
export type RouteLimits<Q> =
  | GuardLimiter
  | (Partial<Limit<Q>> & { readonly limits?: readonly Limit<Q>[] | undefined });

/** All of them as one guard's options, so that one check decides on all or nothing. */
export function withRouteLimits<Q>(
  options: GuardOptions<Q>,
  routes: readonly RouteLimits<Q>[],
): GuardOptions<Q> {
  return { ...options, limits: [...(options.limits ?? []), ...routes.flatMap(limitsOf)] };
}

function limitsOf<Q>(route: RouteLimits<Q>): readonly Limit<Q>[] {
  // What is no object at all is the guard's to refuse.
  if (typeof route !== 'object' || route === null) return [route];
  if ('takeMany' in route) return [{ limiter: route }];
  const { limits = [], ...own } = route;
  return Object.keys(own).length === 0 ? limits : [own as Limit<Q>, ...limits];
}

/** For routes that say nothing; undefined if only routes have limits. The options are checked either way. */
export function guardForAll<Q>(options: GuardOptions<Q>, view: View<Q>): Guard<Q> | undefined {
  if ('limiter' in options || 'limits' in options) return createGuard(options, view);
  createGuard({ ...options, limits: [{ limiter: NONE }] }, view);
  return undefined;
}

const NONE = { takeMany() {} } as unknown as GuardLimiter;
