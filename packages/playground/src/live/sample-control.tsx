/** Starts and stops synthetic traffic. Shown only to clients that may reset keys. */
import { showDuration } from '../model/format.ts';
import { follow } from '../ui/follow.ts';
import { sample, startSample, stopSample } from './sample-traffic.ts';
import { askable, heard, isAdmin } from './watch.ts';

export function SampleControl() {
  follow(heard);
  if (!isAdmin.value || askable.value.size === 0) return null;
  const state = sample.value;
  if (state.kind === 'running') {
    const left = Math.max(0, Math.ceil((state.until - Date.now()) / 1000));
    return (
      <div class="sample">
        <span class="muted">Sending synthetic traffic, {showDuration(left * 1000)} left</span>
        <button type="button" class="stop" onClick={stopSample}>
          Stop
        </button>
      </div>
    );
  }
  return (
    <div class="sample">
      {state.kind === 'failed' && (
        <span class="denied" role="alert">
          {state.why}
        </span>
      )}
      <button
        type="button"
        class="primary"
        title="Sends requests with keys that start with “synthetic-” to each limit, for one minute"
        onClick={() => void startSample([...askable.peek()])}
      >
        Send sample traffic
      </button>
    </div>
  );
}
