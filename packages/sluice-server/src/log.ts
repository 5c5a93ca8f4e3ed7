/** What the server says: a line each, as JSON for machines or as text for a terminal. */

export type Level = 'debug' | 'info' | 'warn' | 'error';
export type Log = Readonly<
  Record<Level, (message: string, fields?: Readonly<Record<string, unknown>>) => void>
>;

export const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

export function createLog(
  write: (line: string) => void,
  options: { readonly level?: Level; readonly format?: 'json' | 'text' } = {},
): Log {
  const { level: least = 'info', format = 'json' } = options;
  const line =
    (level: Level) =>
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
