/**
 * Detects the end of calls whose result continues after the function has returned, such as subscriptions and streams of values.
 */

/** Called when a call is over, with true if it failed. */
type End = (hasFailed: boolean) => void;

interface ObservableLike {
  subscribe(observer: ObserverLike): { unsubscribe(): void };
}

interface ObserverLike {
  next?(value: unknown): void;
  error?(error: unknown): void;
  complete?(): void;
}

/**
 * Returns the result of a call, and calls `end` once when the result is over. A plain value is over immediately, an async
 * iterable when it ends or is closed, and an observable when it completes or loses its subscriber.
 */
export function untilOver<T>(result: T, end: End): T {
  let isOver = false;
  const once: End = (hasFailed) => {
    if (isOver) return;
    isOver = true;
    end(hasFailed);
  };
  if (isAsyncIterable(result)) return watchedIterable(result, once) as AsyncIterable<unknown> as T;
  if (isObservable(result)) return watchedObservable(result, once) as T & ObservableLike;
  once(false);
  return result;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === 'function';
}

function isObservable(value: unknown): value is ObservableLike {
  return typeof (value as Partial<ObservableLike> | null)?.subscribe === 'function';
}

function watchedIterable(source: AsyncIterable<unknown>, end: End): AsyncIterableIterator<unknown> {
  const iterator = source[Symbol.asyncIterator]();
  async function step(
    run: () => MaybeAsync<IteratorResult<unknown>> | undefined,
  ): Promise<IteratorResult<unknown>> {
    try {
      const result = (await run()) ?? { done: true, value: undefined };
      if (result.done) end(false);
      return result;
    } catch (error) {
      end(true);
      throw error;
    }
  }
  return {
    next: (...values) => step(() => iterator.next(...values)),
    return: (value) => step(() => iterator.return?.(value)),
    throw: (error) =>
      step(() => {
        if (iterator.throw === undefined) throw error;
        return iterator.throw(error);
      }),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

type MaybeAsync<T> = T | PromiseLike<T>;

function watchedObservable(source: ObservableLike, end: End): ObservableLike {
  return Object.assign(Object.create(source) as ObservableLike, {
    subscribe(observer: ObserverLike) {
      const subscription = source.subscribe({
        next: (value) => observer.next?.(value),
        error(error) {
          end(true);
          observer.error?.(error);
        },
        complete() {
          end(false);
          observer.complete?.();
        },
      });
      return {
        unsubscribe() {
          subscription.unsubscribe();
          end(false);
        },
      };
    },
  });
}
