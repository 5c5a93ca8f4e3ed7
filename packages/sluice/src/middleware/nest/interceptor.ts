/**
 * Detects the end of calls that have no response of their own in Nest: messages to a gateway and GraphQL subscriptions.
 */
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { SluiceError } from '../../internal/errors.ts';
import { processState } from '../../internal/process-state.ts';
import type { Verdict } from '../../http/index.ts';
import { untilOver } from '../shared/lifetime.ts';

/** The metadata key under which Nest stores the interceptors of a handler or class. */
const INTERCEPTORS = '__interceptors__';

/**
 * Passes `settle` from the guard to the interceptor. It is keyed by the argument list, because the guard and the interceptor get
 * the same list but different contexts.
 */
const waiting = /* @__PURE__ */ processState(
  'nest settle',
  () => new WeakMap<object, NonNullable<Verdict['settle']>>(),
);

type Observable = ReturnType<CallHandler['handle']>;

interface Subscriber {
  next(value: unknown): void;
  error(error: unknown): void;
  complete(): void;
}

/**
 * Settles the charge for a message or a subscription when its handler is done. Add it to gateways, and to resolvers of
 * subscriptions, whose limits hold a place (`concurrency`) or have a `settle` function.
 */
export class RateLimitInterceptor implements NestInterceptor {
  /** Implements `NestInterceptor`. Nest calls this method. */
  intercept(context: ExecutionContext, next: CallHandler): ReturnType<CallHandler['handle']> {
    const source = next.handle();
    const settle = waiting.get(context.getArgs());
    if (settle === undefined) return source;
    waiting.delete(context.getArgs());
    let isOver = false;
    const end = (hasFailed: boolean): void => {
      if (isOver) return;
      isOver = true;
      void settle({ status: hasFailed ? 500 : 200, aborted: false });
    };
    // The new observable is created with the source's own class, because Sluice does not depend on rxjs.
    const ObservableClass = source.constructor as new (
      subscribe: (subscriber: Subscriber) => () => void,
    ) => Observable;
    return new ObservableClass((subscriber) => {
      let isStream = false;
      const subscription = source.subscribe({
        next(value: unknown) {
          if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value))
            return subscriber.next(value);
          isStream = true;
          return subscriber.next(untilOver(value, end));
        },
        error(error: unknown) {
          end(true);
          subscriber.error(error);
        },
        complete: () => subscriber.complete(),
      });
      return () => {
        subscription.unsubscribe();
        if (!isStream) end(false);
      };
    });
  }
}

/**
 * Passes `settle` to the interceptor. Throws if the handler has no interceptor, because a held place would then stay occupied
 * until its lease expires.
 */
export function settleAtTheEnd(settle: NonNullable<Verdict['settle']>, context: ExecutionContext): void {
  const isThere = [context.getHandler(), context.getClass()].some((target) =>
    interceptorsOf(target).some((one) => one === RateLimitInterceptor || one instanceof RateLimitInterceptor),
  );
  if (isThere) {
    waiting.set(context.getArgs(), settle);
    return;
  }
  void settle({ status: 500, aborted: true });
  throw new SluiceError(
    'ERR_OPTIONS',
    'RateLimitGuard',
    context.getHandler().name,
    'add @UseInterceptors(RateLimitInterceptor) to the handler or its class',
    'has a limit that must know when a message or subscription ends',
  );
}

/** The interceptors of a handler or class. `Reflect.getMetadata` is defined by reflect-metadata, which Nest loads. */
function interceptorsOf(target: object): readonly unknown[] {
  const reflect = Reflect as unknown as { getMetadata(key: string, target: object): unknown };
  return (reflect.getMetadata(INTERCEPTORS, target) as readonly unknown[] | undefined) ?? [];
}
