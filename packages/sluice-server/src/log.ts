/** Writes log lines as JSON for machines or as text for a terminal. */

/** Severity, from details for developers (`debug`) to problems that an operator must fix (`error`). */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** One function per level. Each writes a line with the message and, if given, further fields. */
export type Log = Readonly<
  Record<LogLevel, (message: string, fields?: Readonly<Record<string, unknown>>) => void>
>;

export const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export interface LogOptions {
  /** Lines below this level are dropped. Default 'info'. */
  readonly level?: LogLevel;
  /** 'json' for machines, 'text' for a terminal. Default 'json'. */
  readonly format?: 'json' | 'text';
}

/** Creates a log. `write` receives whole lines, each with its line break. If it throws, the line is dropped. */
export function createLog(write: (line: string) => void, options: LogOptions = {}): Log {
  const { level: least = 'info', format = 'json' } = options;
  const line =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return;
      const time = new Date().toISOString();
      try {
        if (format === 'json') return write(`${JSON.stringify({ time, level, message, ...fields })}\n`);
        const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${shown(value)}`);
        write(`${time.slice(11, 19)} ${level.padEnd(5)} ${message}${rest.join('')}\n`);
      } catch {
        // A log line that cannot be written cannot be reported either, and a request must not fail because of its log line.
      }
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@-]+$/.test(value)) return value;
  // JSON escapes only control characters below U+0020. Terminals also act on C1 controls and line separators.
  return String(JSON.stringify(value)).replace(
    /[\x7f-\x9f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Wraps `tell` so that it runs at most once a second. Further calls within that second are dropped. */
export function oncePerSecond<A extends readonly unknown[]>(
  tell: (...args: A) => void,
): (...args: A) => void {
  let last = -Infinity;
  return (...args) => {
    if (performance.now() - last < 1000) return;
    last = performance.now();
    tell(...args);
  };
}
