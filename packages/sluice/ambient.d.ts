// The globals that the core may use: those that Node, Deno, Bun, browsers and edge workers share.
// The list is deliberately short, because every platform must provide everything in it.

declare const performance: { now(): number; readonly timeOrigin: number };

/** Returns a number in browsers. In Node, returns an object, whose `unref` keeps the timer from keeping the process alive. */
declare function setTimeout(callback: () => void, delay?: number): { ref?(): unknown; unref?(): unknown };
declare function clearTimeout(timer: ReturnType<typeof setTimeout> | undefined): void;
declare function queueMicrotask(callback: () => void): void;

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

declare class AbortController {
  readonly signal: AbortSignal;
  abort(): void;
}

declare function fetch(
  url: string,
  init: object,
): Promise<{ readonly ok: boolean; readonly status: number; text(): Promise<string> }>;

declare const crypto: {
  getRandomValues<T extends Uint8Array | Int32Array | Uint32Array>(array: T): T;
  readonly subtle: { digest(algorithm: 'SHA-256', bytes: Uint8Array): Promise<ArrayBuffer> };
};

declare const console: Record<'debug' | 'error' | 'info' | 'log' | 'warn', (...values: unknown[]) => void>;

declare class TextEncoder {
  encode(text: string): Uint8Array;
}
declare function btoa(bytes: string): string;
declare function atob(text: string): string;

declare class URL {
  constructor(url: string);
  static canParse(url: string): boolean;
  readonly origin: string;
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
  readonly pathname: string;
}
declare class Headers {
  constructor(init?: unknown);
  get(name: string): string | null;
}
