/**
 * A store that may fail, made one that always answers in time: a deadline for each hit, a bound on hits in flight, and
 * a circuit breaker that stops asking a store that does not answer. `onFailure` declares the answer for that case.
 *
 * A hit is never sent twice, unless it is certain that the store did not apply it. A charge belongs to the decision that
 * reported it: what the store charged after the deadline is undone, and what the fallback charged is given back there.
 * docs/decisions/0029-late-answers-and-failed-releases.md has the rules.
 */
import { systemClock } from '../../internal/clock.ts';
import {
  type Clock,
  type Decision,
  type Hit,
  leaseOf,
  type Millis,
  type Store,
} from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { faultIn, type StoreFault, StoreUnavailable, SluiceError } from '../../internal/errors.ts';
import { bound, checkOptionNames } from '../../internal/options.ts';
import { warnOnce } from '../../internal/warn.ts';
import { type Breaker, type BreakerEvent, breakersBy } from './breaker.ts';
import { deadlines } from './deadlines.ts';
import { type Debt, debtsTo } from './pending-releases.ts';
import { fallbackTo, type OnFailure, type Substitute } from './fallback.ts';
import { Holds, leaseEnd, Resets, rowIdOf } from './held-places.ts';
import { undoing } from './late-charge.ts';
import { quietClock } from '../shared/quiet-clock.ts';
import { isOffline, isUnapplied } from './unapplied.ts';

export type { BreakerEvent, OnFailure, Substitute };

/** What becomes of a hit when the store is slow or gone. */
export interface ResilientOptions {
  /** How long a hit may take; default 200 ms. Before the store's first answer it may take two seconds: clients connect first. */
  readonly deadline?: Duration | undefined;
  /** Who decides when the store cannot be asked; default 'local': each limiter's own policies, counted in this process. */
  readonly onFailure?: OnFailure | undefined;
  /** Hits on their way at once; more fail at once. Default 10,000. */
  readonly maxInFlight?: number | undefined;
  /** Called when a breaker opens and when it closes. Without it, the first time that one opens leads to a warning. */
  readonly onEvent?: ((event: BreakerEvent) => void) | undefined;
}

/** What the stores of Sluice tell `resilient`, or hear from it. */
export interface Hooks {
  /** Called after something was given back in the background. */
  readonly givenBack?: (hit: Hit) => void;
  /** Which node of a cluster a hit is for; undefined: not known. */
  readonly nodeOf?: ((hit: Hit) => string | undefined) | undefined;
}

/** How long a hit may take unless told otherwise. */
export const DEADLINE: Millis = 200;
/** From the first hit on, a store has this long to give its first answer: clients connect meanwhile. */
const START: Millis = 2000;
/** How often a hit is sent again, until that first answer, to a client that is not connected and refused to send it. */
const OFFLINE_RETRY: Millis = 20;
/** A row beside the key's own, in the same slot of a cluster. */
const PROBE = ':~probe';
/** Faults of one key or one hit, which say nothing of the store's health. */
const LOCAL_FAULTS: ReadonlySet<StoreFault> = new Set(['wrong-type', 'overloaded', 'script']);

/** Answers in the store's place. Without an error, the hit was not sent. */
type Otherwise = (fault: StoreFault, error?: unknown) => Promise<Decision>;

export function resilient(
  store: Store<Promise<Decision>>,
  options: ResilientOptions = {},
  { givenBack = () => {}, nodeOf }: Hooks = {},
): Store<Promise<Decision>> {
  const {
    deadline = DEADLINE,
    onFailure = 'local',
    maxInFlight = 10_000,
    onEvent,
  } = checkOptionNames('resilient', options, ['deadline', 'onFailure', 'maxInFlight', 'onEvent']);
  const span = duration('deadline', deadline);
  bound('maxInFlight', maxInFlight);
  const fallback = fallbackTo(onFailure, 'now' in store.clock ? (store.clock as Clock) : undefined);
  const breakerOf = breakersBy(nodeOf);
  const limits = deadlines(span);
  /** Of the hits before the first answer. */
  const startLimits = deadlines(START);
  /** Places that this process took and has not given back; empty unless a plan holds what it charges. */
  const holds = new Holds();
  const debts = debtsTo(attempt);
  const resets = new Resets();
  let inFlight = 0;
  /** Hits sent so far. */
  let sentCount = 0;
  let closed = false;
  /** When the first answer is due; Infinity: no hit was sent yet; 0: there was an answer. */
  let startEnd = Infinity;

  function apply(hit: Hit): Promise<Decision> {
    const { verb } = hit;
    if (verb === 'refund' || verb === 'release') return giveBack(hit);
    if (verb === 'renew' && hit.of?.source === 'fallback') return fallback.renew(hit);
    if (verb === 'reset') forget(hit);
    return askOr(hit, undefined, (fault, error) => substitute(hit, fault, error));
  }

  /** The store's answer. If the store cannot be asked, or fails, that of `otherwise`. `until`: as in `ask`. */
  function askOr(hit: Hit, until: Millis | undefined, otherwise: Otherwise): Promise<Decision> {
    const breaker = breakerOf(hit);
    if (breaker.openedAt === 0) return askNow(hit, breaker, until, otherwise);
    probe(hit, breaker);
    const { trial } = breaker;
    if (trial === undefined) return otherwise('circuit-open');
    if (inFlight >= maxInFlight) return otherwise('overloaded');
    const since = systemClock.now();
    inFlight++;
    return trial.then(() => {
      inFlight--;
      if (breaker.openedAt > 0) return otherwise('circuit-open');
      return askNow(hit, breaker, until, otherwise, since);
    });
  }

  function askNow(
    hit: Hit,
    breaker: Breaker,
    until: Millis | undefined,
    otherwise: Otherwise,
    since?: Millis,
  ): Promise<Decision> {
    if (inFlight >= maxInFlight) return otherwise('overloaded');
    return ask(hit, breaker, until, since).catch((error: unknown) => {
      // An invalid policy is not an outage.
      if (error instanceof SluiceError) throw error;
      return otherwise(faultIn(error), error);
    });
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
    return askOr(hit, until, (fault, error) => {
      if (error === undefined) oweRelease(hit, systemClock.now(), until);
      return fallback.answer(hit, fault, error, isStores);
    });
  }

  /** A caller who repeats a release that failed must not free two places: the repetition replaces what is owed. */
  function debtOf(hit: Hit): Millis | undefined {
    return debts.size === 0 ? undefined : debts.find(rowIdOf(hit), hit.cost)?.until;
  }

  /**
   * The store's answer, or a rejection at the deadline; a charge that is reported later is undone.
   * `until`: when the lease of what is given back ends; undefined: a failed hit is not repeated.
   * `since`: from when on its caller has been waiting; default now.
   */
  function ask(hit: Hit, breaker: Breaker, until?: Millis, since?: Millis): Promise<Decision> {
    return new Promise((resolve, reject) => {
      inFlight++;
      const number = ++sentCount;
      let open = true;
      let sent = leaseOf(hit.plan) > 0 ? systemClock.now() : 0;
      const met = setDeadline((start) => {
        sent = start;
        finish(() => reject(failed(breaker, number, new StoreUnavailable('deadline'))));
      }, since);
      function finish(settle: () => void): void {
        open = false;
        inFlight--;
        met();
        settle();
      }
      function answered(decision: Decision): void {
        if (!open) {
          undo(hit, decision, sent);
          return;
        }
        if (sent > 0 && decision.taken > 0) {
          if (hit.verb === 'renew') holds.remove(hit, false);
          holds.add(hit, sent, decision.taken, false);
        }
        finish(() => {
          succeeded(breaker);
          resolve(decision);
        });
      }
      function refused(error: unknown): void {
        if (open && startEnd > 0 && systemClock.now() + OFFLINE_RETRY < startEnd && isOffline(error)) {
          quietClock.after(OFFLINE_RETRY, () => {
            if (open) new Promise<Decision>((send) => send(store.apply(hit))).then(answered, refused);
          });
          return;
        }
        if (until !== undefined && isUnapplied(error)) oweRelease(hit, sent, until);
        if (open) finish(() => reject(failed(breaker, number, error)));
      }
      store.apply(hit).then(answered, refused);
    });
  }

  /** Until the store has answered once, its client may still be connecting, and hits get the time that it needs. */
  function setDeadline(expire: (since: Millis) => void, since?: Millis): () => void {
    if (startEnd === 0) return limits.set(expire, since);
    const now = systemClock.now();
    startEnd = Math.min(startEnd, now + START);
    return now + span < startEnd ? startLimits.set(expire, now, startEnd) : limits.set(expire, since);
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
    const breaker = breakerOf(debt.hit);
    if (breaker.openedAt > 0) probe(debt.hit, breaker);
    if (breaker.openedAt > 0 || inFlight >= maxInFlight) return false;
    const until = debt.until < Infinity ? debt.until : undefined;
    for (const hit of debt.due(systemClock.now()))
      ask(hit, breaker, until).then(
        () => givenBack(hit),
        () => {},
      );
    return true;
  }

  function forget(hit: Hit): void {
    resets.add(rowIdOf(hit));
    if (leaseOf(hit.plan) > 0) holds.forget(hit);
  }

  function succeeded(breaker: Breaker): void {
    startEnd = 0;
    const openFor = breaker.succeeded();
    if (openFor === undefined) return;
    tell({ type: 'close', openFor, node: breaker.node });
    debts.pay();
  }

  function failed(breaker: Breaker, number: number, error: unknown): unknown {
    // The server is there and refuses: an open breaker would hide the error behind `onFailure`.
    if (error instanceof SluiceError && error.code === 'ERR_PERMISSION') succeeded(breaker);
    const fault = error instanceof SluiceError ? 'script' : faultIn(error);
    if (!LOCAL_FAULTS.has(fault) && breaker.failed(number, sentCount))
      tell({ type: 'open', fault, error, node: breaker.node });
    return error;
  }

  /** A listener's fault must not become the caller's. */
  function tell(event: BreakerEvent): void {
    try {
      if (onEvent !== undefined) onEvent(event);
      else if (event.type === 'open') warnOnce('SLUICE_STORE_UNAVAILABLE', warningOf(event), store);
    } catch {}
  }

  function warningOf({ fault, error, node }: BreakerEvent & { type: 'open' }): string {
    const what = node === undefined ? 'the store' : `node ${node} of the store`;
    const why =
      error instanceof Error && !(error instanceof StoreUnavailable) ? `${fault}: ${error.message}` : fault;
    return `${what} does not answer (${why}). Until it does, ${fallback.does} (option onFailure). Pass onEvent to hear of this each time, and of its end.`;
  }

  /** Asks whether the store is back. With a write, which a read-only or full store refuses, to a row that nobody reads. */
  function probe(hit: Hit, breaker: Breaker): void {
    if (inFlight >= maxInFlight) return;
    const plan = { ...hit.plan, name: hit.plan.name + PROBE };
    breaker.probe(() =>
      ask({ ...hit, plan, verb: 'block', cost: 0, span: 1 }, breaker).then(
        () => {},
        () => {},
      ),
    );
  }

  return {
    clock: store.clock,
    ephemeral: store.ephemeral,
    backend: store.backend ?? store,
    apply,
    close() {
      closed = true;
      debts.close();
      holds.clear();
      void fallback.close();
      return store.close();
    },
  };
}
