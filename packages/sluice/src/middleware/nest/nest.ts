/**
 * A module, a guard and two decorators for NestJS 10, 11 and 12. This is the only middleware that imports its framework,
 * because exceptions and metadata must use Nest's own classes and functions.
 */
import {
  type CanActivate,
  ConfigurableModuleBuilder,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type ExecutionContext,
  HttpException,
  Inject,
  Injectable,
  Module,
  SetMetadata,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { Decision, MaybePromise } from '../../engine/contract.ts';
import { seconds } from '../../http/headers.ts';
import { createGuard, type Guard, type GuardOptions, type Refusal, type Verdict } from '../../http/index.ts';
import { nestView, responseOf } from './context.ts';
import { settleAtTheEnd } from './interceptor.ts';
import { carryOut } from '../shared/node.ts';
import { guardForAll, type RouteLimits, withRouteLimits } from '../shared/route-limits.ts';
import { VERSION } from '../../internal/version.ts';

export { requestOf } from './context.ts';
export { RateLimitInterceptor } from './interceptor.ts';
export type { RouteLimits } from '../shared/route-limits.ts';

/**
 * The options of the module. Functions such as `key` receive Nest's ExecutionContext; `requestOf` finds the request in
 * it.
 */
export type NestRateLimitOptions = GuardOptions<ExecutionContext>;

/** Limits that `@RateLimit` accepts: a limiter, a limiter with its key and cost, or several of these. */
export type NestLimits = RouteLimits<ExecutionContext>;

const OPTIONS = 'SLUICE_RATE_LIMIT_OPTIONS';
const LIMITS = 'sluice:rate-limit';
const SKIP = 'sluice:skip-rate-limit';

/** Adds limits to a handler or a class, on top of the module's limits. A request is charged to all of them or to none. */
export function RateLimit(...limits: readonly NestLimits[]): MethodDecorator & ClassDecorator {
  // Create a guard now, so that invalid options fail where the decorator is written and not at the first request.
  createGuard(withRouteLimits({}, limits), nestView);
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor) => {
    const before = metadata<readonly NestLimits[]>(LIMITS, descriptor?.value ?? target) ?? [];
    decorate(LIMITS, [...limits, ...before], target, name, descriptor);
  };
}

/** Exempts a handler or a class from all limits. `@SkipRateLimit(false)` on a handler overrides the decorator of its class. */
export function SkipRateLimit(skip = true): MethodDecorator & ClassDecorator {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor) =>
    decorate(SKIP, skip, target, name, descriptor);
}

/** The exception that denies a request, for exception filters. GraphQL passes `extensions` on to the client. */
export class RateLimitException extends HttpException {
  /** The decision, or undefined if the store cannot be reached. */
  readonly decision: Decision | undefined;
  /** The details that are safe to show to clients. */
  readonly extensions: Denial;

  constructor(refusal: Refusal, decision: Decision | undefined) {
    super(refusal.type.includes('json') ? JSON.parse(refusal.body) : refusal.body, refusal.status);
    this.decision = decision;
    this.extensions = denial(decision);
    this.message = decision === undefined ? 'Rate limits temporarily unavailable' : 'Too many requests';
  }
}

/** The details of a denial that are safe to show to clients. */
export interface Denial {
  /** 'UNAVAILABLE' if the store cannot be reached. */
  readonly code: 'RATE_LIMITED' | 'UNAVAILABLE';
  /** Seconds until a retry can pass, rounded up. Absent if a retry can never pass. */
  readonly retryAfter?: number;
}

function denial(decision: Decision | undefined): Denial {
  if (decision === undefined) return { code: 'UNAVAILABLE' };
  const { retryAfter } = decision;
  return { code: 'RATE_LIMITED', ...(retryAfter < Infinity && { retryAfter: seconds(retryAfter) }) };
}

const COUNTED: unique symbol = Symbol.for(`sluice ${VERSION} counted`);

/**
 * The guard that checks requests. The module binds it globally, unless `global` is false. For gateways, or if `global` is false,
 * use `@UseGuards(RateLimitGuard)`.
 */
export class RateLimitGuard implements CanActivate {
  private readonly options: NestRateLimitOptions;
  private readonly forAll: Guard<ExecutionContext> | undefined;
  /** Guards by class, then by handler, because several classes may inherit the same handler. */
  private readonly guards = new WeakMap<object, WeakMap<object, Guard<ExecutionContext> | undefined>>();

  constructor(options: NestRateLimitOptions) {
    this.options = options;
    this.forAll = guardForAll(options, nestView);
  }

  /** Returns true if the request passes. Otherwise, throws a `RateLimitException` or, for gateways, a `WsException`. */
  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    // If the guard is bound globally and also to this handler, it charges only once.
    const marked = context as { [COUNTED]?: NestRateLimitOptions };
    if (marked[COUNTED] === this.options) return true;
    marked[COUNTED] = this.options;
    const verdict = this.guardOf(context.getClass(), context.getHandler())?.(context);
    if (verdict === undefined) return true;
    return verdict instanceof Promise
      ? verdict.then((later) => applyVerdict(later, context))
      : applyVerdict(verdict, context);
  }

  private guardOf(type: object, handler: object): Guard<ExecutionContext> | undefined {
    const guards = this.guards.get(type) ?? new WeakMap<object, Guard<ExecutionContext> | undefined>();
    if (!guards.has(handler)) {
      guards.set(handler, this.made(type, handler));
      this.guards.set(type, guards);
    }
    return guards.get(handler);
  }

  private made(type: object, handler: object): Guard<ExecutionContext> | undefined {
    if (metadata<boolean>(SKIP, handler) ?? metadata<boolean>(SKIP, type)) return undefined;
    const routes = [type, handler].flatMap((one) => metadata<readonly NestLimits[]>(LIMITS, one) ?? []);
    return routes.length === 0 ? this.forAll : createGuard(withRouteLimits(this.options, routes), nestView);
  }
}

Injectable()(RateLimitGuard);
Inject(OPTIONS)(RateLimitGuard, undefined, 0);

/** Options of the module beyond those of the guard. */
export interface NestModuleExtras {
  /**
   * Whether the guard is bound globally. If false, bind it with `@UseGuards`, or provide it as APP_GUARD after your own guards.
   * Default true.
   */
  readonly global: boolean;
}

const extras: NestModuleExtras = { global: true };

/** Type of the module class. It is more precise than the type that Nest infers, in which instances could be anything. */
interface ModuleClass {
  new (): object;
  /** Configures the module with options. */
  forRoot(options: NestRateLimitOptions & Partial<NestModuleExtras>): DynamicModule;
  /** Configures the module with options from a factory or a class, which can inject providers. */
  forRootAsync(
    options: ConfigurableModuleAsyncOptions<NestRateLimitOptions, 'create'> & Partial<NestModuleExtras>,
  ): DynamicModule;
}

const Base: ModuleClass = new ConfigurableModuleBuilder<NestRateLimitOptions>({
  optionsInjectionToken: OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras(extras, ({ providers = [], ...definition }, { global }) => ({
    ...definition,
    global: true,
    providers: [
      ...providers,
      RateLimitGuard,
      ...(global ? [{ provide: APP_GUARD, useExisting: RateLimitGuard }] : []),
    ],
    exports: [OPTIONS, RateLimitGuard],
  }))
  .build().ConfigurableModuleClass;

/**
 * The Nest module, for use as `RateLimitModule.forRoot(options)` or `forRootAsync({ useFactory, inject })`. It is global, so its
 * guard can be injected everywhere.
 * @hideconstructor
 */
export class RateLimitModule extends Base {}

Module({})(RateLimitModule);

function applyVerdict(verdict: Verdict, context: ExecutionContext): MaybePromise<boolean> {
  const { decision, refusal } = verdict;
  const response = responseOf(context);
  if (response === undefined) {
    if (refusal === undefined) {
      if (verdict.settle !== undefined) settleAtTheEnd(verdict.settle, context);
      return true;
    }
    const exception = new RateLimitException(refusal, decision);
    if (context.getType() === 'ws') return refuseMessage(exception);
    throw exception;
  }
  return carryOut(
    verdict,
    response.raw ?? response,
    (refusal) => {
      if (context.getType() === 'http' && refusal.type.includes('json'))
        response.header('Content-Type', refusal.type);
      throw new RateLimitException(refusal, decision);
    },
    (name, value) => response.header(name, value),
  );
}

/**
 * Throws a WsException, because the exception filters of gateways handle no other type of exception. The package of this exception
 * is imported lazily, because only gateways need the package.
 */
async function refuseMessage(cause: RateLimitException): Promise<never> {
  const { WsException } = await import('@nestjs/websockets');
  throw new WsException({ status: 'error', message: cause.message, ...cause.extensions });
}

function decorate(
  key: string,
  value: unknown,
  target: object,
  name: string | symbol | undefined,
  descriptor: PropertyDescriptor | undefined,
): void {
  const set = SetMetadata(key, value);
  if (name === undefined || descriptor === undefined) set(target as new () => unknown);
  else set(target, name, descriptor);
}

/** Reads metadata with reflect-metadata, which Nest loads. A class inherits its parent's metadata. */
function metadata<T>(key: string, target: object): T | undefined {
  return (Reflect as unknown as { getMetadata(key: string, target: object): T | undefined }).getMetadata(
    key,
    target,
  );
}
