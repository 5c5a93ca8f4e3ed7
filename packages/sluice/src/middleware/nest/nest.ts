/**
 * NestJS 11 and 12: a module, a guard and two decorators. Exceptions and metadata are the framework's own classes and
 * functions, so this is the one middleware that imports its framework.
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

export { requestOf } from './context.ts';
export { RateLimitInterceptor } from './interceptor.ts';
export type { RouteLimits } from '../shared/route-limits.ts';

/** Keys, costs and the like get Nest's ExecutionContext; `requestOf` finds the request in it. */
export type NestRateLimitOptions = GuardOptions<ExecutionContext>;

/** What `@RateLimit` takes: a limiter, one with its key and cost, or several. */
export type NestLimits = RouteLimits<ExecutionContext>;

const OPTIONS = 'SLUICE_RATE_LIMIT_OPTIONS';
const LIMITS = 'sluice:rate-limit';
const SKIP = 'sluice:skip-rate-limit';

/** On a handler or a class: adds to the limits of the module; all of them are decided on at once. */
export function RateLimit(...limits: readonly NestLimits[]): MethodDecorator & ClassDecorator {
  // A mistake comes to light where it stands, not when it is asked.
  createGuard(withRouteLimits({}, limits), nestView);
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor) => {
    const before = metadata<readonly NestLimits[]>(LIMITS, descriptor?.value ?? target) ?? [];
    decorate(LIMITS, [...limits, ...before], target, name, descriptor);
  };
}

/** On a handler or a class: no limit of any kind. The handler's word counts before the class's. */
export function SkipRateLimit(skip = true): MethodDecorator & ClassDecorator {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor) =>
    decorate(SKIP, skip, target, name, descriptor);
}

/** What a denial throws, for exception filters; GraphQL passes `extensions` on to the client. */
export class RateLimitException extends HttpException {
  /** Undefined: the store could not be asked. */
  readonly decision: Decision | undefined;
  /** What a client may know of it. */
  readonly extensions: Denial;

  constructor(refusal: Refusal, decision: Decision | undefined) {
    super(refusal.type.includes('json') ? JSON.parse(refusal.body) : refusal.body, refusal.status);
    this.decision = decision;
    this.extensions = denial(decision);
    this.message = decision === undefined ? 'The limits cannot be checked now' : 'Too many requests';
  }
}

/** What a client is told of a denial. */
export interface Denial {
  /** 'UNAVAILABLE': the store could not be asked. */
  readonly code: 'RATE_LIMITED' | 'UNAVAILABLE';
  /** Seconds, rounded up; absent if trying again is in vain. */
  readonly retryAfter?: number;
}

function denial(decision: Decision | undefined): Denial {
  if (decision === undefined) return { code: 'UNAVAILABLE' };
  const { retryAfter } = decision;
  return { code: 'RATE_LIMITED', ...(retryAfter < Infinity && { retryAfter: seconds(retryAfter) }) };
}

const COUNTED: unique symbol = Symbol('counted');

/** The module binds it for all handlers but gateways'; `@UseGuards(RateLimitGuard)` there, and where it did not. */
export class RateLimitGuard implements CanActivate {
  private readonly options: NestRateLimitOptions;
  private readonly forAll: Guard<ExecutionContext> | undefined;
  /** By class, then by handler: classes may inherit a handler. */
  private readonly guards = new WeakMap<object, WeakMap<object, Guard<ExecutionContext> | undefined>>();

  constructor(options: NestRateLimitOptions) {
    this.options = options;
    this.forAll = guardForAll(options, nestView);
  }

  /** Throws a RateLimitException, or its like for gateways, when the request does not pass. */
  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    // Bound twice, for all and again for a handler, it counts once.
    const marked = context as { [COUNTED]?: NestRateLimitOptions };
    if (marked[COUNTED] === this.options) return true;
    marked[COUNTED] = this.options;
    const verdict = this.guardOf(context.getClass(), context.getHandler())?.(context);
    if (verdict === undefined) return true;
    return verdict instanceof Promise
      ? verdict.then((later) => carriesOn(later, context))
      : carriesOn(verdict, context);
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

/** Beside the options of the guard. */
export interface NestModuleExtras {
  /** False: no guard is bound; `@UseGuards`, or APP_GUARD after others of yours, says where. Default true. */
  readonly global: boolean;
}

const extras: NestModuleExtras = { global: true };

/** Nest's own type of it says less: its instances could be anything. */
interface ModuleClass {
  new (): object;
  /** With the options themselves. */
  forRoot(options: NestRateLimitOptions & Partial<NestModuleExtras>): DynamicModule;
  /** With options that a factory or a class makes, from what is injected into it. */
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
 * `forRoot(options)`, or `forRootAsync({ useFactory, inject })`. Its guard can be injected everywhere.
 * @hideconstructor
 */
export class RateLimitModule extends Base {}

Module({})(RateLimitModule);

function carriesOn(verdict: Verdict, context: ExecutionContext): MaybePromise<boolean> {
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

/** Gateways' filters know no other exception; who has gateways has its package. */
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

/** Of reflect-metadata, which Nest loads; a class inherits it. */
function metadata<T>(key: string, target: object): T | undefined {
  return (Reflect as unknown as { getMetadata(key: string, target: object): T | undefined }).getMetadata(
    key,
    target,
  );
}
