/**
 * Strict leases: a node debits a batch from the store and spends it by itself, so that most decisions cost the store
 * nothing. Whatever fails, no more passes than the policies allow: docs/decisions/0020-strict-leases.md.
 */
import type { Clock, Decision, Hit, MaybePromise, Plan, Store } from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { bound, checkOptionNames, storeIn, whole } from '../../internal/options.ts';
import { copyOf, isKept, numbersOf } from '../shared/cacheable-key.ts';
import { KeyLease, type Node } from './key-lease.ts';
import { type Terms, termsOf } from './terms.ts';
import { quietClock } from '../shared/quiet-clock.ts';

/** `lease` and `nodes` must be the same in all processes that share a limiter: what the store runs follows from them. */
export interface LeasedOptions {
  /** The longest time for which units are kept here; default 5 s, and never more than a quarter of a policy's window. */
  readonly lease?: Duration | undefined;
  /** About how many processes share the store; default 8. Limits below 20 units a node are checked directly. */
  readonly nodes?: number | undefined;
  /**
   * The most keys with a lease, per limiter; default 10,000. Beyond that the least recently used key is evicted. Keys
   * longer than 1,024 characters are checked directly.
   */
  readonly maxKeys?: number | undefined;
  /** In place of this machine's monotonic clock: for tests. */
  readonly clock?: Clock | undefined;
  /** In place of Math.random: for tests. */
  readonly random?: (() => number) | undefined;
}

/** The keys of all plans with one name and the same numbers. */
interface Book {
  readonly plan: Plan;
  readonly id: string;
  /** Undefined: checked directly. */
  readonly terms: Terms | undefined;
  readonly keys: Map<string, KeyLease>;
  stopSweeping: (() => void) | undefined;
  /** Found by plans with the same numbers. One without keys is dropped. */
  isListed: boolean;
}

/** Debits batches from the store and spends them here: most answers come at once, and never more passes than the limit. */
export function leased(store: Store, options: LeasedOptions = {}): Store<MaybePromise<Decision>> {
  const {
    lease = '5s',
    nodes = 8,
    maxKeys = 10_000,
    clock = quietClock,
    random = Math.random,
  } = checkOptionNames('leased', options, ['lease', 'nodes', 'maxKeys', 'clock', 'random']);
  storeIn('leased.store', store);
  const longest = duration('leased.lease', lease);
  whole('leased.nodes', nodes);
  bound('leased.maxKeys', maxKeys);
  const node: Node = { store, now: clock.now.bind(clock), random, roundTrip: 0 };
  const byPlan = new WeakMap<Plan, Book>();
  /** The books that can be leased from, by name and numbers: a policy function may return a new object for each hit. */
  const books = new Map<string, Book>();
  let lastPlan: Plan | undefined;
  let lastBook: Book | undefined;
  let closed = false;

  function bookOf(plan: Plan): Book {
    if (plan === lastPlan) return lastBook as Book;
    const known = byPlan.get(plan);
    const book = known?.isListed ? known : bookFor(plan);
    byPlan.set(plan, book);
    lastPlan = plan;
    lastBook = book;
    return book;
  }

  function bookFor(plan: Plan): Book {
    const id = numbersOf(plan);
    const known = books.get(id);
    if (known !== undefined) return known;
    const terms = termsOf(plan, longest, nodes);
    const book: Book = { plan, id, terms, keys: new Map(), stopSweeping: undefined, isListed: true };
    if (terms !== undefined && !closed) {
      books.set(id, book);
      schedule(book, terms);
    }
    return book;
  }

  function schedule(book: Book, terms: Terms): void {
    book.stopSweeping = clock.after(terms.span / 2, () => sweep(book, terms));
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    const book = bookOf(hit.plan);
    const { terms, keys } = book;
    if (terms === undefined) return store.apply(hit);
    const found = keys.get(hit.key);
    // What the fallback charged did not come from a lease.
    if (!closed && hit.mode === 'whole' && isKept(hit.key) && hit.of?.source !== 'fallback') {
      if (hit.verb === 'take') return (found ?? add(book, terms, hit.key)).take(hit);
      if (hit.verb === 'peek' && found !== undefined) return found.peek(hit);
      if (hit.verb === 'refund' && found !== undefined) return found.refund(hit);
    }
    if (hit.verb === 'reset' || hit.verb === 'block') drop(hit);
    return store.apply({ ...hit, plan: terms.plan });
  }

  function add(book: Book, terms: Terms, key: string): KeyLease {
    // Each that was used since the last look is spared once.
    for (const [oldest, entry] of book.keys) {
      if (book.keys.size < maxKeys) break;
      book.keys.delete(oldest);
      if (entry.seen) {
        entry.seen = false;
        book.keys.set(oldest, entry);
      } else void entry.giveBack();
    }
    const kept = copyOf(key);
    const entry = new KeyLease(kept, terms, node);
    book.keys.set(kept, entry);
    return entry;
  }

  /** Returns what lies idle. */
  function sweep(book: Book, terms: Terms): void {
    for (const [key, entry] of book.keys) {
      if (entry.seen) entry.dropExpired(clock.now());
      else {
        book.keys.delete(key);
        void entry.giveBack();
      }
      entry.seen = false;
    }
    if (book.keys.size > 0) {
      schedule(book, terms);
      return;
    }
    book.isListed = false;
    books.delete(book.id);
    lastPlan = undefined;
  }

  /** Tiers may read the same row: what is held by any of them ends. */
  function drop({ verb, plan, key }: Hit): void {
    for (const { plan: other, keys } of books.values()) {
      const entry = other.name === plan.name ? keys.get(key) : undefined;
      if (entry === undefined) continue;
      keys.delete(key);
      if (verb === 'reset') entry.forget();
      else void entry.giveBack();
    }
  }

  /** Returns all leases first. */
  async function close(): Promise<void> {
    closed = true;
    const entries = [...books.values()].flatMap(({ keys }) => [...keys.values()]);
    for (const { keys, stopSweeping } of books.values()) {
      stopSweeping?.();
      keys.clear();
    }
    await Promise.all(entries.map((entry) => entry.giveBack()));
    await store.close();
  }

  return { clock: store.clock, ephemeral: store.ephemeral, backend: store.backend ?? store, apply, close };
}
