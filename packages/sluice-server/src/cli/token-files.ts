/** Reads tokens from files or environment variables. */
import { readFileSync } from 'node:fs';
import type { Log } from '../log.ts';
import type { ListenerName } from '../server-options.ts';
import { parseTokens } from '../config/tokens.ts';
import { UsageError } from '../config/usage-error.ts';
import type { Token } from '../listeners/grants.ts';
import type { Args } from './args.ts';

/**
 * Reads tokens from a file. The file is read again at most once a second, so that tokens can be replaced without a restart. If
 * the file has become invalid, the previous tokens stay in use.
 */
export function tokensOf(
  name: ListenerName | 'admin',
  args: Args,
  env: NodeJS.ProcessEnv,
  log: Log,
): (() => readonly Token[]) | undefined {
  const flag = `${name}-token-file`;
  const file = args.text(flag);
  const variable = `SLUICE_${name.toUpperCase()}_TOKEN`;
  const token = env[variable];
  if (file === undefined) {
    if (token === undefined) return undefined;
    // An empty variable is usually a secret that was not found, so the listener must not be opened to everyone.
    if (token.trim() === '') throw new UsageError(`${variable} must not be empty; set a token, or unset it`);
    return () => [{ token, name: variable }];
  }
  let tokens = readTokens(flag, file);
  let readAt = performance.now();
  let problem = '';
  return () => {
    if (performance.now() - readAt > 1000) {
      readAt = performance.now();
      try {
        tokens = readTokens(flag, file);
        if (problem !== '') log.info('the token file is valid again', { file });
        problem = '';
      } catch (error) {
        const { message } = error as Error;
        if (message !== problem)
          log.error('invalid token file; keeping the previous tokens', { error: message });
        problem = message;
      }
    }
    return tokens;
  };
}

/** The first token in the file, or the token in the environment if no file is given. */
export function tokenOf(file: string | undefined): string | undefined {
  return file === undefined ? process.env['SLUICE_HTTP_TOKEN'] : readTokens('token-file', file)[0]?.token;
}

/** Throws a UsageError if the file cannot be read, is invalid or contains no token. */
function readTokens(flag: string, file: string): Token[] {
  const tokens = parseTokens(readFor(flag, file), file);
  if (tokens.length === 0)
    throw new UsageError(`--${flag}: ${file} contains no token; write one token per line`);
  return tokens;
}

function readFor(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--${flag}: ${(error as Error).message}`);
  }
}
