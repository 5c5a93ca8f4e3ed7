/**
 * A store that may fail, made one that always answers in time: a deadline for each hit, a bound on hits in flight, and
 * a circuit breaker that stops asking a store that does not answer. `onFailure` declares the answer for that case.
 *
 * A hit is never sent twice, unless it is certain that the store did not apply it. A charge belongs to the decision that
 * reported it: what the store charged after the deadline is undone, and what the fallback charged is given back there.
 * docs/decisions/0029-late-answers-and-failed-releases.md has the rules.
 */
import { systemClock } from '../clock.ts';
import type { Decision, Hit, Millis, Store } from '../contract.ts';
import { type Duration, duration } from '../duration.ts';
import { faultIn, type StoreFault, StoreUnavailable, SluiceError } from '../errors.ts';
import { bound, known } from '../options.ts';
import { deadlines } from './deadlines.ts';
import { type Debt, debtsTo } from './debts.ts';
import { fallbackTo, RETRY_AFTER, type OnFailure, type Substitute } from './fallback.ts';
import { Holds, leaseEnd, leaseOf, Resets, rowIdOf } from './held.ts';
import { undoing } from './late-charge.ts';
import { isUnapplied } from './unapplied.ts';

export type { OnFailure, Substitute };

/** The store is not asked for a while, or again. `openFor`: how long it was not. */
export type BreakerEvent =
  | { readonly type: 'open'; readonly fault: StoreFault; readonly error: unknown }
  | { readonly type: 'close'; readonly openFor: Millis };

/** What becomes of a hit when the store is slow or gone. */
export interface ResilientOptions {
  /** How long a hit may take; default 200 ms. */
  readonly deadline?: Duration | undefined;
  /** What is said when the store cannot be asked; default 'throw', a StoreUnavailable. */
  readonly onFailure?: OnFailure | undefined;
  /** Hits on their way at once; more fail at once. Default 10,000. */
  readonly maxInFlight?: number | undefined;
  /** Called when the breaker opens and when it closes. */
  readonly onEvent?: ((event: BreakerEvent) => void) | undefined;
}

/** How long a hit may take unless told otherwise. */
export const DEADLINE: Millis = 200;
/** Failures in a row that open the breaker. */
const FAILURES = 5;
/** How often an open breaker tries whether the store is back: when a denied caller is told to try again. */
const PROBE_EVERY = RETRY_AFTER;
/** A row beside the key's own, in the same slot of a cluster. */
const PROBE = ':~probe';
/** Faults of one key or one hit, which say nothing of the store's health. */
const LOCAL_FAULTS: ReadonlySet<StoreFault> = new Set(['wrong-type', 'overloaded', 'script']);

/** `givenBack`: called after something was given back in the background. */
export function resilient(
  store: Store<Promise<Decision>>,
  options: ResilientOptions = {},
  givenBack: (hit: Hit) => void = () => {},
): Store<Promise<Decision>> {
  const {
    deadline = DEADLINE,
    onFailure = 'throw',
    maxInFlight = 10_000,
    onEvent,
  } = known('resilient', options, ['deadline', 'onFailure', 'maxInFlight', 'onEvent']);
  const span = duration('deadline', deadline);
  bound('maxInFlight', maxInFlight);
  const fallback = fallbackTo(onFailure);
  const limits = deadlines(span);
  /** Places that this process took and has not given back; empty unless a plan holds what it charges. */
  const holds = new Holds();
  const debts = debtsTo(attempt);
  const resets = new Resets();
  let inFlight = 0;
  let failures = 0;
  let closed = false;
  /** When the breaker opened; 0: it is closed. */
  let openedAt = 0;
  let nextProbe = 0;

  function apply(hit: Hit): Promise<Decision> {
    const { verb } = hit;
    if (verb === 'refund' || verb === 'release') return giveBack(hit);
    if (verb === 'reset') forget(hit);
    const fault = unaskable(hit);
    if (fault !== undefined) return substitute(hit, fault);
    return ask(hit).catch((error: unknown) => {
      // An invalid policy is not an outage.
      if (error instanceof SluiceError) throw error;
      return substitute(hit, faultIn(error), error);
    });
  }

  /** Why the store cannot be asked now. An open breaker is probed on the occasion. */
  function unaskable(hit: Hit): StoreFault | undefined {
    if (openedAt > 0) {
      if (systemClock.now() >= nextProbe) probe(hit);
      return 'circuit-open';
    }
    return inFlight >= maxInFlight ? 'overloaded' : undefined;
  }

  async function substitute(hit: Hit, fault: StoreFault, cause?: unknown): Promise<Decision> {
    const decision = await fallback.answer(hit, fault, cause);
    if (decision.taken > 0 && leaseOf(hit.plan) > 0) holds.add(hit, systemClock.now(), decision.taken, true);
    return decision;
  }

  /** Gives back where the charge was made. */
  function giveBack(hit: Hit): Promise<Decision> {
    const isHolding = leaseOf(hit.plan) > 0;
    const isFallback =
      hit.of === undefined ? isHolding && holds.hasFallback(hit) : hit.of.source === 'fallback';
    if (isFallback) {
      if (isHolding) holds.remove(hit, true);
      return fallback.giveBack(hit);
    }
    const until = isHolding ? (holds.remove(hit, false) ?? debtOf(hit)) : undefined;
    // Without a decision or a record of its charge, it may be the fallback's as well.
    const isStores = hit.of !== undefined || until !== undefined;
    const fault = unaskable(hit);
    if (fault !== undefined) {
      oweRelease(hit, systemClock.now(), until);
      return fallback.answer(hit, fault, undefined, isStores);
    }
    return ask(hit, until).catch((error: unknown) => {
      if (error instanceof SluiceError) throw error;
      return fallback.answer(hit, faultIn(error), error, isStores);
    });
  }

  /** A caller who repeats a release that failed must not free two places: the repetition replaces what is owed. */
  function debtOf(hit: Hit): Millis | undefined {
    return debts.size === 0 ? undefined : debts.find(rowIdOf(hit), hit.cost)?.until;
  }

  /**
   * The store's answer, or a rejection at the deadline; a charge that is reported later is undone.
   * `until`: when the lease of what is given back ends; undefined: a failed hit is not repeated.
   */
  function ask(hit: Hit, until?: Millis): Promise<Decision> {
    return new Promise((resolve, reject) => {
      inFlight++;
      let open = true;
      let sent = leaseOf(hit.plan) > 0 ? systemClock.now() : 0;
      const met = limits.set((due) => {
        sent = due - span;
        finish(() => reject(failed(new StoreUnavailable('deadline'))));
      });
      function finish(settle: () => void): void {
        open = false;
        inFlight--;
        met();
        settle();
      }
      store.apply(hit).then(
        (decision) => {
          if (!open) {
            undo(hit, decision, sent);
            return;
          }
          if (sent > 0 && decision.taken > 0) holds.add(hit, sent, decision.taken, false);
          finish(() => {
            succeeded();
            resolve(decision);
          });
        },
        (error: unknown) => {
          if (until !== undefined && isUnapplied(error)) oweRelease(hit, sent, until);
          if (open) finish(() => reject(failed(error)));
        },
      );
    });
  }

  /** A charge that the store made after its caller had been told otherwise. */
  function undo(hit: Hit, decision: Decision, sent: Millis): void {
    const { plan } = hit;
    if (decision.taken === 0) return;
    // With 'allow' the caller passed, and in mode 'always' every attempt counts: these charges are right, if late.
    const keepsRates = onFailure === 'allow' || hit.mode === 'always';
    const until = leaseOf(plan) > 0 ? leaseEnd(plan, sent) : Infinity;
    const id = rowIdOf(hit);
    const due = (now: Millis): readonly Hit[] =>
      isDue(id, sent, until, now) ? undoing(hit, decision, sent, now, keepsRates) : [];
    settle({ id, hit, until, due });
  }

  /** Whether the store still counts what was sent then, and will when it hears of it: within the deadline. */
  function isDue(id: string, sent: Millis, until: Millis, now: Millis): boolean {
    return now + span < until && !resets.since(id, sent);
  }

  /** Remembers to release what was not given back. Rates are left alone: their units come back by themselves. */
  function oweRelease(hit: Hit, sent: Millis, until: Millis | undefined): void {
    if (until === undefined) return;
    const id = rowIdOf(hit);
    const release: readonly Hit[] = [{ ...hit, verb: 'release' }];
    const due = (now: Millis): readonly Hit[] => (isDue(id, sent, until, now) ? release : []);
    debts.owe({ id, hit, until, due, released: hit.cost });
  }

  function settle(debt: Debt): void {
    if (closed) return;
    if (!attempt(debt)) debts.owe(debt);
  }

  function attempt(debt: Debt): boolean {
    if (unaskable(debt.hit) !== undefined) return false;
    const until = debt.until < Infinity ? debt.until : undefined;
    for (const hit of debt.due(systemClock.now()))
      ask(hit, until).then(
        () => givenBack(hit),
        () => {},
      );
    return true;
  }

  function forget(hit: Hit): void {
    resets.add(rowIdOf(hit));
    if (leaseOf(hit.plan) > 0) holds.forget(hit);
  }

  function succeeded(): void {
    failures = 0;
    if (openedAt === 0) return;
    const openFor = systemClock.now() - openedAt;
    openedAt = 0;
    tell({ type: 'close', openFor });
    debts.pay();
  }

  function failed(error: unknown): unknown {
    const fault = error instanceof SluiceError ? 'script' : faultIn(error);
    if (LOCAL_FAULTS.has(fault) || openedAt > 0 || ++failures < FAILURES) return error;
    openedAt = systemClock.now();
    nextProbe = openedAt + PROBE_EVERY;
    tell({ type: 'open', fault, error });
    return error;
  }

  /** A listener's fault must not become the caller's. */
  function tell(event: BreakerEvent): void {
    try {
      onEvent?.(event);
    } catch {}
  }

  /** Asks whether the store is back. With a write, which a read-only or full store refuses, to a row that nobody reads. */
  function probe(hit: Hit): void {
    nextProbe = systemClock.now() + PROBE_EVERY;
    if (inFlight >= maxInFlight) return;
    const plan = { ...hit.plan, name: hit.plan.name + PROBE };
    ask({ ...hit, plan, verb: 'block', cost: 0, span: 1 }).catch(() => {});
  }

  return {
    clock: store.clock,
    ephemeral: store.ephemeral,
    apply,
    close() {
      closed = true;
      debts.close();
      holds.clear();
      return store.close();
    },
  };
}
