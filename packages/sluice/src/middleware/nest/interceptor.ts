/** Sees the end of what has no response of its own in Nest: a message to a gateway, a GraphQL subscription. */
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { SluiceError } from '../../internal/errors.ts';
import type { Verdict } from '../../http/index.ts';
import { untilOver } from '../shared/lifetime.ts';

/** Nest's key for the interceptors of a handler or class. */
const INTERCEPTORS = '__interceptors__';

/** What the guard leaves for the interceptor. Both get the same list of arguments, but different contexts. */
const waiting = new WeakMap<object, NonNullable<Verdict['settle']>>();

type Observable = ReturnType<CallHandler['handle']>;

interface Subscriber {
  next(value: unknown): void;
  error(error: unknown): void;
  complete(): void;
}

/**
 * Settles what a guard has charged for a message or a subscription when the handler is done. Needed on gateways, and on
 * resolvers of subscriptions, whose limits hold a place (`concurrency`) or have `settle`.
 */
export class RateLimitInterceptor implements NestInterceptor {
  /** Called by Nest. */
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
    // The class itself, since only Nest depends on rxjs.
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

/** Leaves it to the interceptor to settle. Throws where there is none: what is held would stay so until its lease ends. */
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
    'cannot see the end of a message or subscription, at which its limit is settled',
  );
}

/** Reflect.getMetadata comes from reflect-metadata, which Nest loads. */
function interceptorsOf(target: object): readonly unknown[] {
  const reflect = Reflect as unknown as { getMetadata(key: string, target: object): unknown };
  return (reflect.getMetadata(INTERCEPTORS, target) as readonly unknown[] | undefined) ?? [];
}
