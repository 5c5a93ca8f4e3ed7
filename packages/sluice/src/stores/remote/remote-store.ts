/** Sends hits to a sluice-server with `fetch`. All hits of a tick travel together. `resilient` handles all faults. */
import type { AlgorithmsByName } from '../../algorithms/by-name.ts';
import type { Decision, Hit, Millis, Plan, Store } from '../../engine/contract.ts';
import { systemClock } from '../../internal/clock.ts';
import { StoreError } from '../../internal/errors.ts';
import { quietClock } from '../../wrappers/shared/quiet-clock.ts';
import { batchesOf, type Pending, refuse, settle } from '../wire/pending.ts';
import { askOf, planText } from '../wire/wire.ts';
import { noConnection } from '../../internal/no-connection.ts';
import { answersTo, errorOf, refusalOf } from './faults.ts';
import type { RemoteFetch } from './remote.ts';

export interface RemoteStoreOptions {
  /** The URL of the route that decides hits. */
  readonly endpoint: string;
  readonly token: string | undefined;
  readonly send: RemoteFetch;
  readonly algorithms: AlgorithmsByName;
  readonly deadline: Millis;
}

/**
 * A request is aborted this many milliseconds after the deadline of its hits. Until then, `resilient` can undo the charges that a
 * late answer reports.
 */
const LATE_ANSWERS: Millis = 10_000;
/** Maximum size of a request in UTF-16 code units. A server accepts 1 MiB by default. */
const MAX_REQUEST = 256 * 1024;
/** The status with which a server refuses a request that is larger than its own maximum. */
const TOO_LARGE = 413;

export function remoteStore(options: RemoteStoreOptions): Store<Promise<Decision>> {
  const { endpoint, token, send, algorithms, deadline } = options;
  const headers = {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const texts = new WeakMap<Plan, string>();
  const requests = new Set<AbortController>();
  let waiting: Pending[] = [];
  let isClosed = false;

  function textOf(plan: Plan): string {
    const text = texts.get(plan) ?? planText(plan, algorithms, 'of Sluice, because the server has no others');
    texts.set(plan, text);
    return text;
  }

  function enqueue(hit: Hit, group?: readonly Hit[]): Promise<Decision | undefined> {
    return new Promise((resolve, reject) => {
      const plan = textOf(hit.plan);
      if (waiting.push({ hit, plan, group, resolve, reject }) === 1) queueMicrotask(flush);
    });
  }

  /** Sends the hits as one request. The server decides them in one step if its store can do so. */
  async function takeAll(hits: readonly Hit[]): Promise<Decision[] | undefined> {
    // Throws before any hit is sent if one of the plans cannot be sent.
    for (const { plan } of hits) textOf(plan);
    const decisions = await Promise.all(hits.map((hit) => enqueue(hit, hits)));
    return decisions.includes(undefined) ? undefined : (decisions as Decision[]);
  }

  function flush(): void {
    const hits = waiting;
    waiting = [];
    if (isClosed) refuse(hits, new StoreError('connection closed'));
    else for (const batch of batchesOf(hits)) void post(batch);
  }

  /** Sends a batch. Never rejects. */
  async function post(batch: readonly Pending[]): Promise<void> {
    const isAll = batch[0].group !== undefined;
    const body = JSON.stringify(askOf(batch, '', 0, false, isAll));
    const isDivisible = batch.length > 1 && !isAll;
    if (body.length > MAX_REQUEST && isDivisible) return postHalves(batch);
    const abort = new AbortController();
    const stopTimer = quietClock.after(deadline + LATE_ANSWERS, () => abort.abort());
    requests.add(abort);
    try {
      // A redirect is not followed, because it would send the token to another server.
      const init = { method: 'POST', headers, body, redirect: 'manual', signal: abort.signal } as const;
      const response = await send(endpoint, init).catch(noConnection);
      const text = await response.text().catch(noConnection);
      if (response.ok) settle(batch, answersTo(text), errorOf);
      // The server has not read the request, so nothing was charged.
      else if (response.status === TOO_LARGE && isDivisible) await postHalves(batch);
      else refuse(batch, refusalOf(response.status, text, endpoint));
    } catch (error) {
      refuse(batch, error);
    } finally {
      stopTimer();
      requests.delete(abort);
    }
  }

  async function postHalves(batch: readonly Pending[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2);
    await Promise.all([post(batch.slice(0, middle)), post(batch.slice(middle))]);
  }

  return {
    clock: systemClock,
    apply: (hit) => enqueue(hit) as Promise<Decision>,
    allTaker: (hits) => () => takeAll(hits),
    close() {
      isClosed = true;
      for (const abort of requests) abort.abort();
    },
  };
}
