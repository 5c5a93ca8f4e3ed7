/**
 * Answers callers in time even if the store fails. There is a deadline for each hit, a limit on hits in flight, and a circuit
 * breaker that stops sending hits to a store that does not answer. `onFailure` selects the answer for these cases.
 *
 * A hit is never sent twice, unless it is certain that the store did not apply it. A charge belongs to the decision that reported
 * it. So a charge that the store made after the deadline is undone, and a charge of the fallback is refunded to the fallback.
 * docs/decisions/0029-late-answers-and-failed-releases.md has the rules.
 */
import { systemClock } from '../../internal/clock.ts';
import {
  type AllTaker,
  type Clock,
  type Decision,
  type Hit,
  leaseOf,
  type Millis,
  type Store,
} from '../../engine/contract.ts';
import { duration } from '../../internal/duration.ts';
import { faultIn, type StoreFault, StoreUnavailable, SluiceError } from '../../internal/errors.ts';
import { bound, checkOptionNames } from '../../internal/options.ts';
import { announceFor, isHitFault } from './announce.ts';
import { type Breaker, type BreakerEvent, breakersBy } from './breaker.ts';
import { type Call, callOf, callOfAll } from './call.ts';
import { deadlines, separateDeadlines } from './deadlines.ts';
import { fallbackTo, type OnFailure, type Substitute } from './fallback.ts';
import { HeldPlaces, leaseEnd, placesIn, placesTaken, Resets, rowIdOf } from './held-places.ts';
import { hitsToUndo } from './late-charge.ts';
import type { Hooks, ResilientOptions } from './options.ts';
import { type PendingReturn, pendingReturns } from './pending-returns.ts';
import { quietClock } from '../shared/quiet-clock.ts';
import { isOffline, isUnapplied } from './unapplied.ts';
import { passedOn } from '../shared/passed-on.ts';

export type { BreakerEvent, Hooks, OnFailure, ResilientOptions, Substitute };

/** How long a hit may take by default. */
export const DEADLINE: Millis = 200;
/** How long a store may take for its first answer, counted from the first hit, because the client may still be connecting. */
const STARTUP: Millis = 2000;
/**
 * Milliseconds until a hit is sent again if the client refused to send it because the client is not connected. Applies until the
 * store's first answer.
 */
const OFFLINE_RETRY: Millis = 20;
/** Suffix of the name under which probes write. Probes use a row of their own, in the cluster slot of the key. */
const PROBE_SUFFIX = ':~probe';
/** Answers instead of the store. Without an `error`, the hits were not sent. */
type Otherwise<T> = (fault: StoreFault, error?: unknown) => Promise<T>;

/** Wraps a store with a deadline, a limit on hits in flight, a circuit breaker and a fallback. */
export function resilient(
  store: Store<Promise<Decision>>,
  options: ResilientOptions = {},
  { givenBack = () => {}, nodeOf, hasRequestTimers = false }: Hooks = {},
): Store<Promise<Decision>> {
  const {
    deadline = DEADLINE,
    onFailure = 'local',
    maxInFlight = 10_000,
    onEvent,
  } = checkOptionNames('resilient', options, ['deadline', 'onFailure', 'maxInFlight', 'onEvent']);
  const timeLimit = duration('deadline', deadline);
  bound('maxInFlight', maxInFlight);
  const fallback = fallbackTo(onFailure, 'now' in store.clock ? (store.clock as Clock) : undefined);
  const announce = announceFor(store, fallback, onEvent);
  const breakerOf = breakersBy(nodeOf);
  const deadlinesOf = hasRequestTimers ? separateDeadlines : deadlines;
  const hitDeadlines = deadlinesOf(timeLimit);
  /** Deadlines of hits before the first answer. */
  const startupDeadlines = deadlinesOf(STARTUP);
  /**
   * The places that this process holds. Empty unless a plan has a policy such as `concurrency`, whose places are held until they
   * are released.
   */
  const heldPlaces = new HeldPlaces();
  const pending = pendingReturns(attempt);
  const resets = new Resets();
  let inFlight = 0;
  /** Number of hits sent so far. */
  let sentCount = 0;
  let closed = false;
  /** When the first answer is due. Infinity if no hit was sent yet, and 0 after the first answer. */
  let startupEnd = Infinity;

  function apply(hit: Hit): Promise<Decision> {
    const { verb } = hit;
    if (verb === 'refund' || verb === 'release' || verb === 'settle') return giveBack(hit);
    if (verb === 'renew' && hit.of?.source === 'fallback') return fallback.renew(hit);
    if (verb === 'reset') forget(hit);
    return askOr(callOf(store, hit), undefined, async (fault, error) =>
      held(hit, await fallback.answer(hit, fault, error)),
    );
  }

  function allTaker(this: Store, hits: readonly Hit[]): AllTaker | undefined {
    // If a wrapper copied this object and replaced `apply`, the hits are decided one by one, so that the wrapper sees each of them.
    const takeAll = this.apply === apply ? store.allTaker?.(hits) : undefined;
    if (takeAll === undefined) return undefined;
    return () =>
      askOr(callOfAll(hits, takeAll), undefined, async (fault, error) => {
        const decisions = await fallback.takeAll(hits, fault, error);
        return decisions.map((decision, i) => held(hits[i], decision));
      });
  }

  /** Calls the store. If the store is unavailable or fails, `otherwise` answers. `until` is the same as for `ask`. */
  function askOr<T>(call: Call<T>, until: Millis | undefined, otherwise: Otherwise<T>): Promise<T> {
    const [hit] = call.hits;
    const breaker = breakerOf(hit);
    if (breaker.openedAt === 0) return askNow(call, breaker, until, otherwise);
    probe(hit, breaker);
    const { awaitedProbe } = breaker;
    if (awaitedProbe === undefined) return otherwise('circuit-open');
    if (inFlight >= maxInFlight) return overloaded(otherwise);
    const since = systemClock.now();
    inFlight++;
    return awaitedProbe.then(() => {
      inFlight--;
      if (breaker.openedAt > 0) return otherwise('circuit-open');
      return askNow(call, breaker, until, otherwise, since);
    });
  }

  function askNow<T>(
    call: Call<T>,
    breaker: Breaker,
    until: Millis | undefined,
    otherwise: Otherwise<T>,
    since?: Millis,
  ): Promise<T> {
    if (inFlight >= maxInFlight) return overloaded(otherwise);
    return ask(call, breaker, until, since).catch((error: unknown) => {
      // A SluiceError, such as one about an invalid policy, is not an outage, so the caller gets the error.
      if (error instanceof SluiceError) throw error;
      const fault = faultIn(error);
      announce.fault(fault, error);
      return otherwise(fault, error);
    });
  }

  function overloaded<T>(otherwise: Otherwise<T>): Promise<T> {
    announce.fault('overloaded', undefined);
    return otherwise('overloaded');
  }

  /** Records the places that a decision of the fallback holds. */
  function held(hit: Hit, decision: Decision): Decision {
    const places = leaseOf(hit.plan) > 0 ? placesTaken(hit, decision) : 0;
    if (places > 0) heldPlaces.add(hit, systemClock.now(), places, true);
    return decision;
  }

  /** Refunds to the store or to the fallback, whichever made the charge. */
  function giveBack(hit: Hit): Promise<Decision> {
    const isHolding = hit.verb !== 'settle' && leaseOf(hit.plan) > 0;
    const isFallback =
      hit.of === undefined ? isHolding && heldPlaces.hasFallback(hit) : hit.of.source === 'fallback';
    if (isFallback) {
      if (isHolding) heldPlaces.remove(hit, true);
      return fallback.giveBack(hit);
    }
    const until = isHolding ? (heldPlaces.remove(hit, false) ?? pendingUntil(hit)) : undefined;
    // If the caller passed no decision, and the place is not among the held places, the fallback may have made the charge.
    const isChargedByStore = hit.of !== undefined || until !== undefined;
    return askOr(callOf(store, hit), until, (fault, error) => {
      if (error === undefined) releaseLater(hit, systemClock.now(), until);
      return fallback.answer(hit, fault, error, isChargedByStore);
    });
  }

  /**
   * If the caller repeats a failed release, removes the pending release, so that only one place is freed. Returns the time until
   * which the place is held.
   */
  function pendingUntil(hit: Hit): Millis | undefined {
    return pending.size === 0 ? undefined : pending.removeRelease(rowIdOf(hit), placesIn(hit))?.until;
  }

  /**
   * Calls the store, and rejects at the deadline. A charge that the store reports after the deadline is undone. `until` is when the lease
   * of a released place ends, or undefined if a failed hit must not be repeated. `since` is when the caller began to wait.
   * Default now.
   */
  function ask<T>(call: Call<T>, breaker: Breaker, until?: Millis, since?: Millis): Promise<T> {
    const { hits } = call;
    return new Promise((resolve, reject) => {
      inFlight++;
      const number = ++sentCount;
      let isOpen = true;
      let sent = hits.some(({ plan }) => leaseOf(plan) > 0) ? systemClock.now() : 0;
      const cancelDeadline = setDeadline((start) => {
        sent = start;
        finish(() => reject(failed(breaker, number, new StoreUnavailable('deadline'))));
      }, since);
      function finish(settle: () => void): void {
        isOpen = false;
        inFlight--;
        cancelDeadline();
        settle();
      }
      function answered(answer: T): void {
        if (!isOpen) {
          for (const [i, decision] of call.decisions(answer).entries()) undo(hits[i], decision, sent);
          return;
        }
        if (sent > 0)
          for (const [i, decision] of call.decisions(answer).entries()) hold(hits[i], decision, sent);
        finish(() => {
          succeeded(breaker);
          resolve(answer);
        });
      }
      function refused(error: unknown): void {
        if (isOpen && startupEnd > 0 && systemClock.now() + OFFLINE_RETRY < startupEnd && isOffline(error)) {
          quietClock.after(OFFLINE_RETRY, () => {
            if (isOpen) new Promise<T>((send) => send(call.send())).then(answered, refused);
          });
          return;
        }
        if (isUnapplied(error)) releaseLater(hits[0], sent, until);
        if (isOpen) finish(() => reject(failed(breaker, number, error)));
      }
      call.send().then(answered, refused);
    });
  }

  /** Records the places that a decision of the store holds. */
  function hold(hit: Hit, decision: Decision, sent: Millis): void {
    const places = leaseOf(hit.plan) > 0 ? placesTaken(hit, decision) : 0;
    if (places === 0) return;
    if (hit.verb === 'renew') heldPlaces.remove(hit, false);
    heldPlaces.add(hit, sent, places, false);
  }

  /** Sets the deadline of a hit. Until the store has answered once, its client may still be connecting, so hits get more time. */
  function setDeadline(expire: (since: Millis) => void, since?: Millis): () => void {
    if (startupEnd === 0) return hitDeadlines.set(expire, since);
    const now = systemClock.now();
    startupEnd = Math.min(startupEnd, now + STARTUP);
    return now + timeLimit < startupEnd
      ? startupDeadlines.set(expire, now, startupEnd)
      : hitDeadlines.set(expire, since);
  }

  /** Undoes a charge that the store made after the caller had already received a different answer. */
  function undo(hit: Hit, decision: Decision, sent: Millis): void {
    const { plan } = hit;
    if (decision.taken === 0) return;
    // With 'allow', the caller was allowed, and in mode 'always', every attempt counts. So in both cases, charges to rate policies
    // stay.
    const keepsRates = fallback.keepsCharges(hit) || hit.mode === 'always';
    const until = leaseOf(plan) > 0 ? leaseEnd(plan, sent) : Infinity;
    const id = rowIdOf(hit);
    const due = (now: Millis): readonly Hit[] =>
      isDue(id, sent, until, now) ? hitsToUndo(hit, decision, sent, now, keepsRates) : [];
    const toReturn: PendingReturn = { id, hit, until, due };
    if (!closed && !attempt(toReturn)) pending.add(toReturn);
  }

  /**
   * Whether a refund or release that is sent now arrives while the store still counts the charge. `sent` is when the hit that made
   * the charge was sent. The refund or release is assumed to arrive within the deadline.
   */
  function isDue(id: string, sent: Millis, until: Millis, now: Millis): boolean {
    return now + timeLimit < until && !resets.since(id, sent);
  }

  /**
   * Schedules another release of a place. Charges to rate policies are not refunded later, because their units are replenished over
   * time anyway.
   */
  function releaseLater(hit: Hit, sent: Millis, until: Millis | undefined): void {
    if (until === undefined) return;
    const id = rowIdOf(hit);
    const release: readonly Hit[] = [{ ...hit, verb: 'release' }];
    const due = (now: Millis): readonly Hit[] => (isDue(id, sent, until, now) ? release : []);
    pending.add({ id, hit, until, due, released: placesIn(hit) });
  }

  function attempt(toReturn: PendingReturn): boolean {
    const breaker = breakerOf(toReturn.hit);
    if (breaker.openedAt > 0) probe(toReturn.hit, breaker);
    if (breaker.openedAt > 0 || inFlight >= maxInFlight) return false;
    const until = toReturn.until < Infinity ? toReturn.until : undefined;
    for (const hit of toReturn.due(systemClock.now()))
      ask(callOf(store, hit), breaker, until).then(
        () => givenBack(hit),
        () => {},
      );
    return true;
  }

  function forget(hit: Hit): void {
    resets.add(rowIdOf(hit));
    if (leaseOf(hit.plan) > 0) heldPlaces.forget(hit);
  }

  function succeeded(breaker: Breaker): void {
    startupEnd = 0;
    const openFor = breaker.succeeded();
    if (openFor === undefined) return;
    announce.breaker({ type: 'close', openFor, node: breaker.node });
    pending.retry();
  }

  function failed(breaker: Breaker, number: number, error: unknown): unknown {
    // The server answers, but refuses the hit. This counts as a success, because an open breaker would hide the error behind
    // `onFailure`.
    if (error instanceof SluiceError && error.code === 'ERR_PERMISSION') succeeded(breaker);
    const fault = error instanceof SluiceError ? 'script' : faultIn(error);
    if (!isHitFault(fault) && breaker.failed(number, sentCount))
      announce.breaker({ type: 'open', fault, error, node: breaker.node });
    return error;
  }

  /**
   * Writes to a row that no limiter reads, to find out whether the store is back. A read would not be enough, because a store
   * that is read-only or full accepts reads but refuses writes.
   */
  function probe(hit: Hit, breaker: Breaker): void {
    if (inFlight >= maxInFlight) return;
    const plan = { ...hit.plan, name: hit.plan.name + PROBE_SUFFIX };
    const block = callOf(store, { verb: 'block', plan, key: hit.key, cost: 0, mode: 'whole', span: 1 });
    breaker.probe(() =>
      ask(block, breaker).then(
        () => {},
        () => {},
      ),
    );
  }

  return {
    ...passedOn(store),
    apply,
    allTaker,
    close() {
      closed = true;
      pending.close();
      heldPlaces.clear();
      void fallback.close();
      return store.close();
    },
  };
}
