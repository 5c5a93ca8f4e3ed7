// The globals that the core may use: those that Node, Deno, Bun, browsers and edge workers share.
// Deliberately short. A new line here is a new demand on every platform.

declare const performance: { now(): number; readonly timeOrigin: number };

/** Node gives an object, which must be told not to keep the process alive; browsers give a number. */
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
