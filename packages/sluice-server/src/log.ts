/** Log lines: JSON for machines, text for a terminal. */

/** Severity, from what only developers need to what an operator must act on. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Writes a line at each level, with `fields` beside the message. */
export type Log = Readonly<
  Record<LogLevel, (message: string, fields?: Readonly<Record<string, unknown>>) => void>
>;

export const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export interface LogOptions {
  /** Lines below this level are not written. Default 'info'. */
  readonly level?: LogLevel;
  /** 'json' for machines, 'text' for a terminal. Default 'json'. */
  readonly format?: 'json' | 'text';
}

/** `write` receives whole lines, each with its line break. If it throws, the line is lost and the caller goes on. */
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
        // There is nowhere left to report it, and no request may fail because of its log line.
      }
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@-]+$/.test(value)) return value;
  // JSON escapes control characters below a space. Terminals also obey C1 controls and line separators.
  return String(JSON.stringify(value)).replace(
    /[\x7f-\x9f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Calls `tell` at most once a second, for what may happen many times a second. */
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
