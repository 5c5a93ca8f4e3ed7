/**
 * Explains why a request was denied, by showing the policy, the remaining units, and when the request would pass. Its height is
 * fixed, so that the layout does not shift.
 */
import { useMemo } from 'preact/hooks';
import { costByPolicy } from '../model/costs.ts';
import { showNumber, showDuration, showTime } from '../model/format.ts';
import { explain, type Run } from '../model/run.ts';
import { follow } from '../ui/follow.ts';
import { nextDenied } from './pick.ts';
import { progress } from './store.ts';
import { picked } from './views.ts';

export function Why({ id, run }: { readonly id: number; readonly run: Run }) {
  const event = picked.value?.lane === id ? picked.value.event : undefined;
  const go = (step: 1 | -1) => {
    const next = nextDenied(run, event, step);
    picked.value = next === undefined ? undefined : { lane: id, event: next };
  };
  follow(progress);
  const none = run.denied.count === 0;
  return (
    <div class={run.policies.includes('&') ? 'why tall' : 'why'}>
      <p aria-live="polite">{event === undefined ? hint(none) : <Answer run={run} event={event} />}</p>
      <div class="why-steps">
        <button
          type="button"
          class="quiet"
          disabled={none}
          aria-label="Previous denied request"
          onClick={() => go(-1)}
        >
          ‹
        </button>
        <button
          type="button"
          class="quiet"
          disabled={none}
          aria-label="Next denied request"
          onClick={() => go(1)}
        >
          ›
        </button>
      </div>
    </div>
  );
}

function hint(none: boolean) {
  return <span class="muted">{none ? 'Nothing was denied.' : 'Click a denied request to see why.'}</span>;
}

/** Formats what a policy has left. A penalty has no remaining units; it either blocks or does not. */
function leftOf({ limit, remaining }: { readonly limit: number; readonly remaining: number }): string {
  if (limit < Infinity) return `${showNumber(remaining)} of ${showNumber(limit)} left`;
  return remaining > 0 ? 'not blocked' : 'blocked';
}

function Answer({ run, event }: { readonly run: Run; readonly event: number }) {
  const found = useMemo(() => explain(run, event), [run, event]);
  const { traffic } = run;
  const asked = traffic.times[event];
  if (found === undefined)
    return <span class="muted">This request is still waiting at the end of the run.</span>;
  const { decision, at } = found;
  const time = (instant: number) => showTime(instant, Math.min(traffic.length, 119_000));
  const who = traffic.names.length > 1 ? `, ${traffic.names[traffic.keys[event]]},` : '';
  const waited = at > asked ? `, after ${showDuration(at - asked)},` : '';
  const request = `Request ${showNumber(event + 1)} at ${time(asked)}${who}${waited}`;
  const several = decision.policies.length > 1;
  const { costs = [] } = run;
  const cost = costs.length === 0 ? {} : costByPolicy(decision.policies, costs);
  const costOf = (name: string) => (Object.hasOwn(cost, name) ? `, cost ${showNumber(cost[name])}` : '');
  const each = (
    <span class="muted">
      {' '}
      {decision.policies.map((one) => `${one.name}: ${leftOf(one)}${costOf(one.name)}`).join(' · ')}
    </span>
  );
  if (decision.allowed)
    return (
      <span>
        {request} <b class="admitted">was admitted</b>, which left {showNumber(decision.remaining)} of{' '}
        {showNumber(decision.limit)}.{costs.length > 0 && each}
      </span>
    );
  return (
    <span>
      {request} <b class="denied">was denied</b> by <code>{several ? decision.policy : run.policies}</code>:{' '}
      {leftOf(decision)}
      {costOf(decision.policy)}.{' '}
      {decision.retryAfter === Infinity
        ? 'It can never pass.'
        : `It would pass in ${showDuration(decision.retryAfter)}, at ${time(at + decision.retryAfter)}.`}
      {several && each}
    </span>
  );
}
