/** A store in memory behind a network that can be slow or fail. For tests with fake timers. */
import { vi } from 'vitest';
import {
  createLimiter,
  type Decision,
  type Limiter,
  memory,
  type Policies,
  type Store,
} from '../../../src/index.ts';
import type { Hit } from '../../../src/store.ts';
import {
  type BreakerEvent,
  type Hooks,
  resilient,
  type ResilientOptions,
} from '../../../src/wrappers/resilient/resilient.ts';

export interface Network {
  /** Hits that were sent, as verb and cost. */
  readonly sent: string[];
  /** The names of the limiters that sent these hits. */
  readonly names: string[];
  /** Milliseconds until a hit reaches the store. Its answer arrives in the same instant. */
  delay: number;
  /** If set, hits fail with this error and do not reach the store. */
  error: Error | undefined;
  /** If set, hits reach the store, but their answers are lost, and callers get this error. */
  lostWith: Error | undefined;
}

export interface Setup {
  readonly network: Network;
  readonly limiter: Limiter<Promise<Decision>>;
  /** A limiter of the same name that calls the store in memory directly. */
  readonly witness: Limiter<Decision>;
  readonly store: Store<Promise<Decision>>;
  readonly events: BreakerEvent[];
}

/** A limiter over a store that answers in time and has answered once, so that the deadline from the options applies. */
export async function overNetwork(
  policies: Policies,
  options: ResilientOptions = {},
  hooks: Hooks = {},
): Promise<Setup> {
  const setup = overNewNetwork(policies, options, hooks);
  await setup.limiter.peek('first');
  setup.network.sent.length = 0;
  setup.network.names.length = 0;
  return setup;
}

/** A limiter over a store that answers in time, but has not answered yet. */
export function overNewNetwork(policies: Policies, options: ResilientOptions = {}, hooks: Hooks = {}): Setup {
  const rows = memory();
  const network: Network = { sent: [], names: [], delay: 0, error: undefined, lostWith: undefined };
  const events: BreakerEvent[] = [];
  async function send<T>(decide: () => T): Promise<T> {
    const { delay, error, lostWith } = network;
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay));
    if (error !== undefined) throw error;
    const answer = decide();
    if (lostWith !== undefined) throw lostWith;
    return answer;
  }
  function apply(hit: Hit): Promise<Decision> {
    network.sent.push(`${hit.verb} ${String(hit.cost)}`);
    network.names.push(hit.plan.name);
    return send(() => rows.apply(hit));
  }
  const allTaker = (hits: readonly Hit[]) => async () => {
    network.sent.push(`all ${hits.map(({ cost }) => String(cost)).join(' ')}`);
    return send(() => rows.allTaker?.(hits)?.());
  };
  const remote: Store<Promise<Decision>> = { clock: rows.clock, apply, allTaker, close: () => rows.close() };
  const store = resilient(remote, { onEvent: (event) => events.push(event), ...options }, hooks);
  return {
    network,
    store,
    events,
    limiter: createLimiter(policies, { store, name: 'api' }),
    witness: createLimiter(policies, { store: rows, name: 'api' }),
  };
}

/** Advances fake time until the promise is settled, and returns its value, or the fault of its error. */
export async function after<T>(span: number, promise: Promise<T>): Promise<T | string> {
  const outcome = promise.catch((error: unknown) => (error as { fault?: string }).fault ?? String(error));
  await vi.advanceTimersByTimeAsync(span);
  return outcome;
}
