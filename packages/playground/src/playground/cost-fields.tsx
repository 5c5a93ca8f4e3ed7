/** Edits what a request costs in each policy of a limit. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isCharged, MOST_COST, namesOf } from '../model/costs.ts';
import { type Lane, setCost } from './store.ts';

export function CostFields({ lane }: { readonly lane: Lane }) {
  const { good, parts, costs } = lane;
  return (
    <fieldset class="costs">
      <legend>Cost of a request in each policy</legend>
      {namesOf(good).map(
        (name, i) =>
          isCharged(parts[i]) && (
            <CostField
              key={i}
              name={name}
              cost={costs.at(i) ?? 1}
              onChange={(cost) => setCost(lane, i, cost)}
            />
          ),
      )}
    </fieldset>
  );
}

interface CostFieldProps {
  readonly name: string;
  readonly cost: number;
  readonly onChange: (cost: number) => void;
}

function CostField({ name, cost, onChange }: CostFieldProps) {
  const input = useRef<HTMLInputElement>(null);
  const showCost = () => {
    if (input.current !== null) input.current.value = String(cost);
  };
  // A focused field keeps what the user types. Rewriting it would change 0.0 to 0 before the user can type 0.06.
  useLayoutEffect(() => {
    if (document.activeElement !== input.current) showCost();
  });
  return (
    <label title={name}>
      <span>{name}</span>
      <input
        ref={input}
        type="number"
        min={0}
        max={MOST_COST}
        step="any"
        required
        onInput={({ currentTarget: field }) => {
          if (field.validity.valid) onChange(field.valueAsNumber);
        }}
        onBlur={showCost}
      />
    </label>
  );
}
