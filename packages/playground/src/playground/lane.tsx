/** A lane of the playground, with the form, chart and totals of one limit. */
import { showNumber, showDuration } from '../model/format.ts';
import type { Run } from '../model/run.ts';
import { follow } from '../ui/follow.ts';
import { LaneChart } from './lane-chart.tsx';
import { playhead } from './playback.ts';
import { PolicyEditor } from './policy-editor.tsx';
import { type Lane, lanes, progress, removeLane, runs } from './store.ts';
import { tightest, totalsAt } from './totals.ts';
import { Why } from './why.tsx';

export function LaneRow({ lane, index }: { readonly lane: Lane; readonly index: number }) {
  const run = runs.value.get(lane.id);
  if (run === undefined) return null;
  return (
    <section class="lane" aria-label={`Limit ${index + 1}: ${lane.good}`}>
      <PolicyEditor lane={lane} index={index} />
      <div class="lane-picture">
        <LaneChart id={lane.id} summary={summaryOf(lane, run)} />
        <Why id={lane.id} run={run} />
      </div>
      <Stats run={run} />
      <button
        type="button"
        class="quiet lane-remove"
        aria-label={`Remove limit ${index + 1}`}
        disabled={lanes.value.length === 1}
        onClick={() => removeLane(lane.id)}
      >
        ×
      </button>
    </section>
  );
}

function summaryOf({ good }: Lane, run: Run): string {
  follow(progress);
  const bound = tightest(run);
  const { admitted, denied, worst } = totalsAt(run, Infinity);
  const { limit, per, cost = 1 } = run.bounds[bound];
  const most = cost === 1 ? `${worst[bound]} admitted` : `${showNumber(worst[bound])} units charged`;
  return `${good}: ${admitted} requests admitted, ${denied} denied; at most ${most} within ${showDuration(per)}, where the limit is ${limit}`;
}

function Stats({ run }: { readonly run: Run }) {
  follow(progress);
  const totals = totalsAt(run, playhead.value);
  const bound = tightest(run);
  const { limit, per, cost = 1 } = run.bounds[bound];
  const worst = totals.worst[bound];
  const isOver = worst > limit;
  const wait = (value: number | undefined) => (value === undefined ? '–' : showDuration(value));
  return (
    <dl class="stats">
      <div>
        <dt>Admitted</dt>
        <dd class="admitted">{showNumber(totals.admitted)}</dd>
      </div>
      <div>
        <dt>Denied</dt>
        <dd class="denied">{showNumber(totals.denied)}</dd>
      </div>
      <div
        title={`The most ${cost === 1 ? 'requests that were admitted for' : 'units that were charged to'} one key in any window of this length`}
      >
        <dt>Worst {showDuration(per)}</dt>
        <dd class={isOver ? 'over' : ''}>
          {showNumber(worst)} <small>of {showNumber(limit)}</small>
        </dd>
      </div>
      <div
        title={
          run.patience > 0 ? 'How long admitted requests waited' : 'How long denied requests are told to wait'
        }
      >
        <dt>Mean {run.patience > 0 ? 'wait' : 'retry-after'}</dt>
        <dd>{wait(totals.averageWait)}</dd>
      </div>
      <div>
        <dt>Longest</dt>
        <dd>{wait(totals.longestWait)}</dd>
      </div>
    </dl>
  );
}
