/** Lets users choose the traffic, and whether denied requests give up or wait. */
import { signal } from '@preact/signals';
import { showNumber, showDuration } from '../model/format.ts';
import { readLog } from '../model/log.ts';
import { KINDS, type TrafficKind, type TrafficOptions } from '../model/traffic.ts';
import { Slider, type SliderProps } from '../ui/slider.tsx';
import { COUNTS, LENGTHS, PATIENCES, RATES, SPANS } from '../ui/values.ts';
import { busiest, focus, patience, recording, setFocus, setKind, traffic, trafficOptions } from './store.ts';

const TITLES: Readonly<Record<TrafficKind, string>> = {
  edge: 'Window boundary',
  steady: 'Steady',
  bursts: 'Bursts',
  poisson: 'Poisson',
  rogue: 'Rogue script',
  log: 'Recorded log',
};

const STORIES: Readonly<Record<TrafficKind, string>> = {
  edge: 'Two bursts, just before and just after a window boundary, then a steady stream above the limit.',
  steady: 'One request after another at a constant rate.',
  bursts: 'Many requests at the same time, then a pause.',
  poisson: 'Independent users: random gaps between requests, reproducible with a seed.',
  rogue: 'Five users, and for half of the time a script that floods the service. Each key has its own limit.',
  log: 'Your own access log, JSON lines or CSV. The file stays in this browser.',
};

type Member = 'rate' | 'size' | 'every' | 'length' | 'seed';
type Knob = Pick<SliderProps, 'label' | 'values' | 'show'> & { readonly member: Member };

const perSecond = (value: number) => `${showNumber(value)}/s`;
const SEEDS = Array.from({ length: 50 }, (_, i) => i + 1);
const length: Knob = { member: 'length', label: 'for', values: LENGTHS, show: showDuration };
const seed: Knob = { member: 'seed', label: 'seed', values: SEEDS, show: String };
const rate = (label: string): Knob => ({ member: 'rate', label, values: RATES, show: perSecond });

const KNOBS: Readonly<Record<TrafficKind, readonly Knob[]>> = {
  edge: [
    { member: 'size', label: 'each burst', values: COUNTS, show: showNumber },
    { member: 'every', label: 'boundary at', values: SPANS, show: showDuration },
    rate('then'),
    length,
  ],
  steady: [rate('rate'), length],
  bursts: [
    { member: 'size', label: 'each burst', values: COUNTS, show: showNumber },
    { member: 'every', label: 'every', values: SPANS, show: showDuration },
    length,
  ],
  poisson: [rate('rate'), seed, length],
  rogue: [
    rate('each user'),
    { member: 'size', label: 'the script', values: COUNTS, show: perSecond },
    seed,
    length,
  ],
  log: [],
};

const logFault = signal('');

export async function openLog(file: File): Promise<void> {
  try {
    recording.value = readLog(file.name, await file.text());
    logFault.value = '';
  } catch (error) {
    logFault.value = error instanceof Error ? error.message : String(error);
  }
  setKind('log');
}

export function TrafficBar() {
  const options = trafficOptions.value;
  const { times, isCut } = traffic.value;
  return (
    <section class="traffic" aria-label="Traffic">
      <fieldset class="chips">
        <legend>Traffic</legend>
        {KINDS.map((kind) => (
          <label key={kind}>
            <input
              type="radio"
              name="traffic"
              checked={kind === options.kind}
              onChange={() => setKind(kind)}
            />
            <span>{TITLES[kind]}</span>
          </label>
        ))}
      </fieldset>
      <p class="story">
        <span>
          {STORIES[options.kind]}{' '}
          <span class="muted">
            {showNumber(times.length)} requests{isCut ? ' (further requests are left out)' : ''}.
          </span>
        </span>
      </p>
      <div class="knobs">
        {options.kind === 'log' ? (
          <LogPicker />
        ) : (
          KNOBS[options.kind].map((knob) => <KnobSlider key={knob.label} knob={knob} options={options} />)
        )}
        <WhenDenied />
        <KeyShown />
      </div>
    </section>
  );
}

function KnobSlider({ knob, options }: { readonly knob: Knob; readonly options: TrafficOptions }) {
  const { member, ...look } = knob;
  return (
    <Slider
      {...look}
      value={options[member]}
      onChange={(value) => {
        trafficOptions.value = { ...options, [member]: value };
      }}
    />
  );
}

function LogPicker() {
  const record = recording.value;
  const { names } = traffic.value;
  return (
    <div class="log">
      <label class="button">
        Choose a file
        <input
          type="file"
          class="hidden"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file !== undefined) void openLog(file);
          }}
        />
      </label>
      <span role="status" class={logFault.value === '' ? 'muted' : 'denied'}>
        {logFault.value ||
          (record === undefined
            ? 'or drop a file anywhere on the page'
            : `${record.name}: ${showNumber(names.length)} keys${record.skipped > 0 ? `, ${showNumber(record.skipped)} lines without a time` : ''}`)}
      </span>
    </div>
  );
}

function WhenDenied() {
  return (
    <label class="choice">
      <span>when denied</span>
      <select
        value={patience.value}
        onChange={(event) => {
          patience.value = Number(event.currentTarget.value);
        }}
      >
        {[...new Set([...PATIENCES, patience.value])].map((span) => (
          <option key={span} value={span}>
            {span === 0 ? 'give up' : `wait up to ${showDuration(span)}`}
          </option>
        ))}
      </select>
    </label>
  );
}

const MOST_NAMES = 50;

function KeyShown() {
  const { names } = traffic.value;
  if (names.length < 2) return null;
  return (
    <label class="choice">
      <span>show level of</span>
      <select value={names[focus.value]} onChange={(event) => setFocus(event.currentTarget.value)}>
        {busiest.value.slice(0, MOST_NAMES).map((key) => (
          <option key={key} value={names[key]}>
            {names[key]}
          </option>
        ))}
      </select>
    </label>
  );
}
