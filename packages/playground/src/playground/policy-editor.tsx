/** Edits a limit as text and with sliders. Changing the text updates the sliders, and vice versa. Invalid text is underlined. */
import { useId, useRef } from 'preact/hooks';
import { ALGORITHMS, BURSTY } from '../model/algorithms.ts';
import { showNumber, showDuration, durationText } from '../model/format.ts';
import { type Options, spanOf } from '../model/options-text.ts';
import { changed, type Part, write } from '../model/policy.ts';
import { CostFields } from './cost-fields.tsx';
import { Slider } from '../ui/slider.tsx';
import { COUNTS, SPANS } from '../ui/values.ts';
import { type Lane, setText } from './store.ts';

const MOST_PARTS = 3;

export function PolicyEditor({ lane, index }: { readonly lane: Lane; readonly index: number }) {
  const { id, parts, costs } = lane;
  const change = (at: number, by: Partial<Part>) => {
    const next = changed(parts[at], by);
    // A penalty denies nothing by itself, so it is added to the limit instead of replacing it.
    const isAdded = by.algorithm === 'penalty' && parts.length === 1;
    setText(id, write(isAdded ? [...parts, next] : parts.map((part, i) => (i === at ? next : part))));
  };
  return (
    <div class="editor">
      <TextForm lane={lane} index={index} />
      {parts.length > 1 && <CostFields lane={lane} />}
      {parts.map((part, i) => (
        <PartForm
          key={i}
          part={part}
          isOnly={parts.length === 1}
          onChange={(by) => change(i, by)}
          onRemove={() => {
            const isKept = (_: unknown, at: number) => at !== i;
            setText(id, write(parts.filter(isKept)), costs.filter(isKept));
          }}
        />
      ))}
      <button
        type="button"
        class="quiet small"
        disabled={parts.length >= MOST_PARTS}
        onClick={() => setText(id, write([...parts, another(parts)]))}
      >
        + Combine with another limit
      </button>
    </div>
  );
}

/** Suggests a second policy with a longer window and a larger limit, because users usually combine such policies. */
function another(parts: readonly Part[]): Part {
  const last = changed(parts[parts.length - 1], { algorithm: 'fixed-window' });
  return changed({ ...last, limit: last.limit * 2 }, { per: last.per * 4 });
}

function TextForm({ lane, index }: { readonly lane: Lane; readonly index: number }) {
  const id = useId();
  const mirror = useRef<HTMLDivElement>(null);
  const { text, reading } = lane;
  const { mistake } = reading;
  return (
    <div class="text-form">
      <label for={id}>Limit {index + 1}</label>
      <div class="field">
        <div class="mirror" ref={mirror} aria-hidden="true">
          {mistake !== undefined && (
            <>
              {text.slice(0, mistake.from)}
              <mark>{text.slice(mistake.from, mistake.to) || ' '}</mark>
              {text.slice(mistake.to)}
            </>
          )}
        </div>
        <input
          id={id}
          type="text"
          value={text}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          aria-invalid={mistake !== undefined}
          aria-describedby={`${id}-why`}
          onInput={(event) => setText(lane.id, event.currentTarget.value)}
          onScroll={(event) => {
            if (mirror.current !== null) mirror.current.scrollLeft = event.currentTarget.scrollLeft;
          }}
        />
      </div>
      <p class="mistake" id={`${id}-why`} role="status" title={mistake?.why}>
        {mistake?.why.split('; ')[0]}
      </p>
    </div>
  );
}

interface PartFormProps {
  readonly part: Part;
  readonly isOnly: boolean;
  readonly onChange: (by: Partial<Part>) => void;
  readonly onRemove: () => void;
}

function PartForm({ part, isOnly, onChange, onRemove }: PartFormProps) {
  return (
    <div class="part">
      <div class="part-head">
        <select
          aria-label="Algorithm"
          value={part.algorithm}
          onChange={(event) => onChange({ algorithm: event.currentTarget.value })}
        >
          {ALGORITHMS.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        {!isOnly && (
          <button type="button" class="quiet small" aria-label="Remove this limit" onClick={onRemove}>
            ×
          </button>
        )}
      </div>
      <div class="sliders">
        {part.options === undefined ? (
          <RateSliders part={part} onChange={onChange} />
        ) : (
          <OptionSliders options={part.options} onChange={onChange} />
        )}
      </div>
    </div>
  );
}

function RateSliders({ part, onChange }: Pick<PartFormProps, 'part' | 'onChange'>) {
  const { algorithm, limit, per, burst } = part;
  return (
    <>
      <Slider
        label="limit"
        values={COUNTS}
        value={limit}
        show={showNumber}
        onChange={(value) => onChange({ limit: value })}
      />
      <Slider
        label="per"
        values={SPANS}
        value={per}
        show={showDuration}
        onChange={(value) => onChange({ per: value })}
      />
      {BURSTY.includes(algorithm) ? (
        <Slider
          label="burst"
          values={COUNTS}
          value={burst ?? (algorithm === 'pacer' ? 0 : limit)}
          show={showNumber}
          onChange={(value) => onChange({ burst: value })}
        />
      ) : (
        <div class="slider muted">
          <span>burst</span>
          <span>–</span>
        </div>
      )}
    </>
  );
}

/** Shows one slider for each number and duration in the text. Other options can be edited only as text. */
function OptionSliders({
  options,
  onChange,
}: {
  readonly options: Options;
  readonly onChange: PartFormProps['onChange'];
}) {
  return Object.entries(options).map(([name, value]) => {
    const span = spanOf(value);
    const set = (next: number | string) => onChange({ options: { ...options, [name]: next } });
    if (span !== undefined)
      return (
        <Slider
          key={name}
          label={name}
          values={SPANS}
          value={span}
          show={showDuration}
          onChange={(next) => set(durationText(next))}
        />
      );
    if (typeof value !== 'number') return null;
    return <Slider key={name} label={name} values={COUNTS} value={value} show={showNumber} onChange={set} />;
  });
}
