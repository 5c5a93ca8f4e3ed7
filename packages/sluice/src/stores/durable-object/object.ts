/**
 * The Durable Object that decides for Workers. A Worker sends it a hit, and the object decides on the row in its storage. So a
 * check is one request, and callers of the same key wait in one queue, in whichever Worker they run, instead of competing.
 */
import { algorithmsByName } from '../../algorithms/by-name.ts';
import type { Decision, Hit, Millis, Plan, Store } from '../../engine/contract.ts';
import { boundedCache } from '../../internal/bounded-cache.ts';
import { systemClock } from '../../internal/clock.ts';
import { StoreUnavailable } from '../../internal/errors.ts';
import { rowsOn } from '../cas/cas.ts';
import { DAY } from '../cas/guarded.ts';
import { idOf } from '../cas/key.ts';
import { swapStore } from '../cas/swap-store.ts';
import { failureOf } from '../wire/pending.ts';
import {
  answerLine,
  answersIn,
  type Ask,
  askOf,
  decisionFrom,
  hitFrom,
  isDecisionLine,
  planFrom,
  planText,
} from '../wire/wire.ts';
import { type DurableObjectStorage, storageService } from './storage.ts';

declare const Response: new (body: string) => unknown;

/** The binding of a Durable Object's class, such as `env.LIMITS`. */
export interface DurableObjectNamespace {
  /** Returns the id of the object with this name. */
  idFromName(name: string): unknown;
  /** Returns a stub that sends requests to an object. */
  get(id: never): {
    fetch(url: string, init: { method: string; body: string }): Promise<{ text(): Promise<string> }>;
  };
}

/** A hit and, if the Worker's store has its own clock, the time of that clock, which replaces the object's time. */
interface Question {
  readonly ask: Ask;
  readonly now?: Millis | undefined;
}

const ALGORITHMS = algorithmsByName('algorithms');
const ONLY_OWN =
  'of Sluice; for your own algorithms, create the limiter inside a Durable Object of yours, with durableObject(ctx.storage)';
/** How long the object tries to decide. The store in the Worker has its own, shorter deadline by default. */
const DEADLINE: Millis = 30_000;
/** The maximum number of parsed plans that an object or a Worker keeps. */
const PLANS = 100;

/**
 * The class of the Durable Objects that decide for `durableObject(namespace)`. Export it from the Worker's main module, and bind it
 * in the Worker's configuration.
 */
export class SluiceObject {
  readonly #storage: ReturnType<typeof storageService>;
  readonly #store: Store<Promise<Decision>>;
  readonly #plans = boundedCache<Plan>(PLANS);

  /** Cloudflare creates the object. */
  constructor(state: { readonly storage: DurableObjectStorage }) {
    this.#storage = storageService(state.storage);
    this.#store = swapStore(rowsOn(this.#storage, undefined, true), systemClock, true, 0, DEADLINE);
  }

  /** Answers a request of the store in a Worker. */
  async fetch(request: { text(): Promise<string> }): Promise<never> {
    return new Response(await this.#decide(await request.text())) as never;
  }

  async #decide(text: string): Promise<string> {
    const { ask, now } = JSON.parse(text) as Question;
    const [[plan], [line]] = ask;
    try {
      const known = this.#plans.get(plan) ?? this.#plans.set(plan, planFrom(plan, ALGORITHMS));
      return answerLine([await this.#storeAt(now).apply(hitFrom(line, known))]);
    } catch (error) {
      return answerLine([{ error: error instanceof Error ? error.message : String(error) }]);
    }
  }

  #storeAt(now: Millis | undefined): Store<Promise<Decision>> {
    if (now === undefined) return this.#store;
    const rows = rowsOn(this.#storage, { now: () => now }, true);
    return swapStore(rows, systemClock, false, DAY, DEADLINE);
  }
}

/** A store that sends each hit to the object of its key, so that keys do not wait for each other. */
export function namespaceStore(
  namespace: DurableObjectNamespace,
  clock: { now(): Millis } | undefined,
): Store<Promise<Decision>> {
  const texts = new WeakMap<Plan, string>();

  async function apply(hit: Hit): Promise<Decision> {
    const { plan, key } = hit;
    const text = texts.get(plan) ?? planText(plan, ALGORITHMS, ONLY_OWN);
    texts.set(plan, text);
    const question: Question = { ask: askOf([{ hit, plan: text }], '', 0), now: clock?.now() };
    const [answer] = answersIn(await send(idOf(plan, key), JSON.stringify(question)));
    if (isDecisionLine(answer, hit)) return decisionFrom(answer, hit);
    throw failureOf(typeof answer === 'string' ? answer : 'no answer', hit);
  }

  async function send(name: string, body: string): Promise<string> {
    const stub = namespace.get(namespace.idFromName(name) as never);
    try {
      return await (await stub.fetch('https://sluice/', { method: 'POST', body })).text();
    } catch (error) {
      throw new StoreUnavailable(isOverloaded(error) ? 'overloaded' : 'connection', error);
    }
  }

  return { clock: systemClock, apply, close() {} };
}

/** Whether an error means that the object gets too many requests. Cloudflare marks such errors. */
function isOverloaded(error: unknown): boolean {
  return (error as { readonly overloaded?: unknown } | undefined)?.overloaded === true;
}
