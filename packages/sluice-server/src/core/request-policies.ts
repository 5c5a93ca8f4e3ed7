/** Opens the limits that requests contain as text, such as '10/s burst 20', and bounds how many of them are open. */
import { createLimiter, type Millis, type Store } from 'sluice';
import { type Limit, openLimit } from './limit.ts';

/** The name for all limits that requests contain, in metrics and in the `limits` of a token. */
export const REQUEST_POLICIES = 'policies';
/** Maximum length of the policies' text, which becomes a part of names in the store. */
const MAX_TEXT = 200;
/** Number of windows without a call after which all keys of a limit are fully replenished, even keys that were overdrawn. */
const IDLE_WINDOWS = 4;

/** Thrown if a request contains policies that cannot be used. The message is meant for the client. */
export class PoliciesRefused extends Error {
  readonly reason: 'off' | 'too-long' | 'too-many';

  constructor(reason: PoliciesRefused['reason'], message: string) {
    super(message);
    this.name = 'PoliciesRefused';
    this.reason = reason;
  }
}

interface Opened {
  readonly limit: Limit;
  /** Milliseconds without a call after which the limit may be closed. */
  readonly idle: Millis;
  usedAt: Millis;
}

export interface RequestPolicies {
  /** The limit with these policies. Throws a PoliciesRefused, or a SluiceError if the text is invalid. */
  limitOf(policies: string): Limit;
}

/**
 * Keeps at most `max` limits open. Each text has its own counts. When `max` is reached, the least recently used limit is closed if
 * all of its keys are fully replenished, so that no denied key is reset. Otherwise, further texts are refused. `now` is monotonic
 * time.
 */
export function openRequestPolicies(
  store: Store,
  max: number,
  now: () => Millis = () => performance.now(),
): RequestPolicies {
  /** The open limits by their text, starting with the least recently used limit. */
  const opened = new Map<string, Opened>();

  function makeRoom(): void {
    if (opened.size < max) return;
    for (const [text, { limit, idle, usedAt }] of opened) {
      if (now() - usedAt < idle) continue;
      limit.close();
      opened.delete(text);
      return;
    }
    throw new PoliciesRefused(
      'too-many',
      `this server accepts at most ${max} different policies in requests, and all of these were used recently. Reuse one of them, or start the server with a higher --request-policies.`,
    );
  }

  return {
    limitOf(policies) {
      if (max === 0)
        throw new PoliciesRefused(
          'off',
          'this server does not accept policies in requests. Name a limit of the configuration, or start the server with --request-policies.',
        );
      const text = policies.trim().replace(/\s+/g, ' ');
      const known = opened.get(text);
      if (known !== undefined) {
        known.usedAt = now();
        opened.delete(text);
        opened.set(text, known);
        return known.limit;
      }
      if (text.length > MAX_TEXT)
        throw new PoliciesRefused('too-long', `policies must have at most ${MAX_TEXT} characters`);
      // This call throws if the text is invalid, before `makeRoom` closes another limit.
      const window = longestWindowOf(text, store);
      makeRoom();
      const limit = openLimit({ ...PLAIN, name: `${REQUEST_POLICIES}:${text}`, policies: text, text }, store);
      opened.set(text, { limit, idle: IDLE_WINDOWS * window, usedAt: now() });
      return limit;
    },
  };
}

const PLAIN = { tiers: {}, classes: {}, overrides: [], mode: 'whole', shadow: false } as const;

/** The longest window of the policies. Throws a SluiceError if the text is invalid. */
function longestWindowOf(text: string, store: Store): Millis {
  let longest = 0;
  const probe: Store = {
    clock: store.clock,
    apply: (hit) => store.apply(hit),
    close: () => undefined,
    accept({ policies }) {
      for (const { window, per = window } of policies) longest = Math.max(longest, window, per);
    },
  };
  createLimiter(text, { name: 'probe', store: probe });
  return longest;
}
