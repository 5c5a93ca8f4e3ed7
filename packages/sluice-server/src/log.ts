/** What the server says: a line each, as JSON for machines or as text for a terminal. */

/** From what only developers want to know to what somebody must look at. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A function for each level; `fields` stand beside the message. */
export type Log = Readonly<
  Record<LogLevel, (message: string, fields?: Readonly<Record<string, unknown>>) => void>
>;

export const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export interface LogOptions {
  /** What is below it is not written. Default 'info'. */
  readonly level?: LogLevel;
  /** For machines or for a terminal. Default 'json'. */
  readonly format?: 'json' | 'text';
}

/** `write` gets whole lines, with their end. */
export function createLog(write: (line: string) => void, options: LogOptions = {}): Log {
  const { level: least = 'info', format = 'json' } = options;
  const line =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}) => {
      if (LEVELS.indexOf(level) < LEVELS.indexOf(least)) return;
      const time = new Date().toISOString();
      if (format === 'json') return write(`${JSON.stringify({ time, level, message, ...fields })}\n`);
      const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${shown(value)}`);
      write(`${time.slice(11, 19)} ${level.padEnd(5)} ${message}${rest.join('')}\n`);
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@-]+$/.test(value)) return value;
  // JSON escapes what is below a blank; terminals also obey some above the letters.
  return String(JSON.stringify(value)).replace(
    /[\x7f-\x9f\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
