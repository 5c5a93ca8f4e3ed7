/** Decides what a client may do, depending on its token. All listeners use the same rules. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Descriptor } from '../core/descriptors.ts';
import { matchesPattern } from '../core/match.ts';

/**
 * What a token can permit. `config` permits reading the configured limits, `metrics` and `live` permit the routes with these
 * names, and `store` permits sending hits directly to the store.
 */
export type TokenVerb =
  | 'take'
  | 'peek'
  | 'reserve'
  | 'refund'
  | 'settle'
  | 'release'
  | 'config'
  | 'metrics'
  | 'live'
  | 'block'
  | 'unblock'
  | 'reset'
  | 'store';

/** All verbs, in the order in which messages list them. */
export const TOKEN_VERBS: readonly TokenVerb[] = [
  'take',
  'peek',
  'reserve',
  'refund',
  'settle',
  'release',
  'config',
  'metrics',
  'live',
  'block',
  'unblock',
  'reset',
  'store',
];

/** Verbs that override limits. If the server has admin tokens, any other token permits these verbs only if it lists them. */
const ADMIN: ReadonlySet<TokenVerb> = new Set(['block', 'unblock', 'reset', 'store']);
/** Verbs that concern all limits. A token that is restricted to some limits permits these verbs only if it lists them. */
const FOR_ALL_LIMITS: ReadonlySet<TokenVerb> = new Set(['config', 'metrics', 'live', 'store']);

/** A token, and what its clients may do. */
export interface Token {
  /** The secret that clients send. */
  readonly token: string;
  /** The name of the token in logs and error messages. Default: its position, such as 'token 1'. */
  readonly name?: string | undefined;
  /**
   * The only verbs that the token permits. Default: all verbs. If the server has admin tokens and this token is not one of them,
   * the default excludes block, unblock, reset and store.
   */
  readonly verbs?: readonly TokenVerb[] | undefined;
  /**
   * The only limits that the token may use, as names or as patterns in which `*` matches any text. The names of Envoy's domains
   * count as limits, and so do 'cl.throttle' for CL.THROTTLE and 'policies' for limits that a request contains. Default: all
   * limits.
   */
  readonly limits?: readonly string[] | undefined;
}

/** A token. A string is the secret of a token without restrictions. */
export type GivenToken = string | Token;

/** What a client may do. */
export interface Grant {
  /** Describes the client in logs and error messages. Never contains the secret. */
  readonly who: string;
  readonly verbs?: readonly TokenVerb[] | undefined;
  readonly limits?: readonly string[] | undefined;
  /** Whether the client may use the admin verbs. Ignored if `verbs` is defined. */
  readonly isAdmin: boolean;
}

export interface GrantOptions {
  readonly tokens?: (() => readonly GivenToken[]) | undefined;
  readonly adminTokens?: (() => readonly GivenToken[]) | undefined;
}

/** The grant of a client without a token. */
export const NO_TOKEN: Grant = { who: 'a client without a token', isAdmin: false };
/** The grant of a client on this machine, which needs no token and may use all verbs. */
export const LOCAL_ADMIN: Grant = { who: 'a local client without a token', isAdmin: true };
/** The grant of a client with an accepted certificate, which needs no token and may use all verbs. */
export const CERTIFIED: Grant = { who: 'a client certificate', isAdmin: true };

/** The grant of a token. Undefined if the token is wrong. */
export function grantFor(shown: string, { tokens, adminTokens }: GrantOptions): Grant | undefined {
  const admin = adminTokens === undefined ? undefined : findToken(shown, adminTokens(), 'admin token');
  const plain = tokens === undefined ? undefined : findToken(shown, tokens(), 'token');
  if (admin !== undefined) return { ...admin, isAdmin: true };
  return plain && { ...plain, isAdmin: adminTokens === undefined };
}

/** Finds a token. Compares with all tokens in constant time, so that a wrong token takes as long as a correct one. */
export function findToken(
  shown: string,
  tokens: readonly GivenToken[],
  kind: string,
): Omit<Grant, 'isAdmin'> | undefined {
  const own = digest(shown);
  let found: Omit<Grant, 'isAdmin'> | undefined;
  for (const [i, given] of tokens.entries()) {
    const {
      token,
      name = `${kind} ${i + 1}`,
      verbs,
      limits,
    }: Token = typeof given === 'string' ? { token: given } : given;
    if (timingSafeEqual(own, digest(token))) found = { who: name, verbs, limits };
  }
  return shown === '' ? undefined : found;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Thrown if a client may not do what it asked for. The message is meant for the client. */
export class Forbidden extends Error {
  /** What the client may do. */
  readonly grant: Grant;
  /** The verb that the client may not use. Undefined if the client was refused because of the limit. */
  readonly verb: TokenVerb | undefined;
  /** Whether the audit log contains a line about this refusal, so that the request log needs none. */
  isAudited = false;

  constructor(message: string, grant: Grant, verb?: TokenVerb) {
    super(message);
    this.name = 'Forbidden';
    this.grant = grant;
    this.verb = verb;
  }
}

function mayUseVerb({ verbs, limits, isAdmin }: Grant, verb: TokenVerb): boolean {
  if (verbs !== undefined) return verbs.includes(verb);
  if (limits !== undefined && FOR_ALL_LIMITS.has(verb)) return false;
  return isAdmin || !ADMIN.has(verb);
}

function mayUseLimit({ limits }: Grant, limit: string): boolean {
  return limits === undefined || limits.some((pattern) => matchesPattern(pattern, limit));
}

export function isAdminVerb(verb: TokenVerb): boolean {
  return ADMIN.has(verb);
}

/** Throws a `Forbidden` error unless the client may use the verb. */
export function checkVerb(grant: Grant, verb: TokenVerb): void {
  if (mayUseVerb(grant, verb)) return;
  const { who, verbs, limits } = grant;
  const reason =
    verbs !== undefined
      ? `its verbs are ${verbs.join(', ')}`
      : limits !== undefined && FOR_ALL_LIMITS.has(verb)
        ? `it is restricted to some limits, so its line in the token file must name the verb`
        : 'use an admin token, or a token whose line in the token file names the verb';
  throw new Forbidden(`${who} may not use the verb ${verb}; ${reason}`, grant, verb);
}

/** Throws a `Forbidden` error unless the client may use the limit, whether or not the limit exists. */
export function checkLimit(grant: Grant, limit: string): void {
  if (!mayUseLimit(grant, limit))
    throw new Forbidden(
      `${grant.who} may not use the limit ${JSON.stringify(limit.slice(0, 200))}; its limits are ${grant.limits?.join(', ')}`,
      grant,
    );
}

/** Throws a `Forbidden` error unless the client may use the domain and the verbs that Envoy's descriptors need. */
export function checkDescriptors(grant: Grant, domain: string, descriptors: readonly Descriptor[]): void {
  if (grant.verbs === undefined && grant.limits === undefined) return;
  checkLimit(grant, domain);
  if (descriptors.some(({ isNegativeHits = false }) => !isNegativeHits)) checkVerb(grant, 'take');
  if (descriptors.some(({ isNegativeHits = false }) => isNegativeHits)) checkVerb(grant, 'refund');
}
