/**
 * Recognizes the server's replies to a client that lacks a permission or a password. A missing permission or password is a
 * configuration error, not an outage, so the check rejects regardless of `onFailure`, and the error says what to grant.
 */
import { SluiceError } from '../../internal/errors.ts';

/** Commands that a script calls. docs/decisions/0017-evalsha-and-not-redis-functions.md lists them for operators. */
const CALLED = '+get +mget +set +del +getrange +setrange +pexpireat +time';

/** The replies as servers and valkey-glide phrase them, and what to do about each. */
const MISSING: readonly (readonly [RegExp, (found: readonly string[]) => string])[] = [
  [/NOAUTH/, () => 'the server requires a password; create the client with one'],
  [/WRONGPASS|AuthenticationFailed/, () => "the server does not accept the client's username or password"],
  [
    /(?:NOPERM|PermissionDenied).*run the '([^']+)' command/i,
    ([, command]) => `allow it with ACL SETUSER <user> +${command}`,
  ],
  [
    /(?:NOPERM|PermissionDenied).*\bkeys?\b/i,
    () => "run ACL SETUSER <user> ~<name of the limiter>:* to allow the limiter's keys",
  ],
  [
    /executing the script can't run|ACL failure in script/,
    () => `run ACL SETUSER <user> ${CALLED} to allow the commands that the script calls`,
  ],
  [/NOPERM|PermissionDenied/i, () => 'allow it with ACL SETUSER'],
];

/** The error to reject with if the server's error is about a missing permission. Undefined otherwise. */
export function missingRight(error: unknown): SluiceError | undefined {
  const words = String((error as Error | undefined)?.message ?? error);
  for (const [pattern, advice] of MISSING) {
    const found = pattern.exec(words);
    if (found === null) continue;
    // The cause proves that the server has not run anything, so a release may be repeated.
    return Object.assign(new SluiceError('ERR_PERMISSION', 'redis.client', words, advice(found)), {
      cause: error,
    });
  }
  return undefined;
}
