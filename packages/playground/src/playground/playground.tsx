/** The Playground part of the page, which shows limits side by side on the same traffic. */
import { useEffect } from 'preact/hooks';
import { MOST_LANES } from '../model/state.ts';
import { linkHere } from '../route.ts';
import { Copy } from '../ui/copy.tsx';
import { ByKey } from './by-key.tsx';
import { Code } from './code.tsx';
import { LaneRow } from './lane.tsx';
import { toggle } from './playback.ts';
import { addLane, lanes } from './store.ts';
import { openLog, TrafficBar } from './traffic-bar.tsx';
import { Transport } from './transport.tsx';

export function Playground() {
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    addEventListener('keydown', playWithSpace, { signal });
    addEventListener('dragover', (event) => event.preventDefault(), { signal });
    addEventListener('drop', dropLog, { signal });
    return () => stop.abort();
  }, []);
  return (
    <main class="playground" aria-label="Playground">
      <p class="intro">
        <b>Same traffic, different limits.</b> See what each limit lets through, and change anything.
      </p>
      <h1 class="hidden">Playground: limits side by side</h1>
      <TrafficBar />
      <div class="lanes">
        {lanes.value.map((lane, index) => (
          <LaneRow key={lane.id} lane={lane} index={index} />
        ))}
      </div>
      <Transport />
      <div class="actions">
        <button type="button" disabled={lanes.value.length >= MOST_LANES} onClick={addLane}>
          + Compare another limit
        </button>
        <Copy label="Copy link to this page" text={linkHere} />
      </div>
      <ByKey />
      <Code />
    </main>
  );
}

/** Starts or pauses playback with the space key, unless the focused element uses that key. */
function playWithSpace(event: KeyboardEvent): void {
  const target = event.target as Element;
  if (event.key !== ' ' || target.closest('input, button, select, textarea, a, summary') !== null) return;
  event.preventDefault();
  toggle();
}

function dropLog(event: DragEvent): void {
  const file = event.dataTransfer?.files[0];
  if (file === undefined) return;
  event.preventDefault();
  void openLog(file);
}
