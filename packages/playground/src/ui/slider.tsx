/** A slider with a fixed list of useful values. A value between two of these values is kept until the slider is moved. */
import { useId } from 'preact/hooks';

export interface SliderProps {
  readonly label: string;
  readonly values: readonly number[];
  readonly value: number;
  readonly show: (value: number) => string;
  readonly onChange: (value: number) => void;
}

export function Slider({ label, values, value, show, onChange }: SliderProps) {
  const id = useId();
  return (
    <div class="slider">
      <label for={id}>{label}</label>
      <output for={id}>{show(value)}</output>
      <input
        id={id}
        type="range"
        min={0}
        max={values.length - 1}
        step={1}
        value={nearest(values, value)}
        aria-valuetext={show(value)}
        onInput={(event) => onChange(values[Number(event.currentTarget.value)])}
      />
    </div>
  );
}

function nearest(values: readonly number[], value: number): number {
  let best = 0;
  for (let i = 1; i < values.length; i++)
    if (Math.abs(values[i] - value) < Math.abs(values[best] - value)) best = i;
  return best;
}
