/** Shows how many requests of each key were admitted and denied, if there are several keys. */
import { useComputed } from '@preact/signals';
import { showNumber } from '../model/format.ts';
import type { Outcomes } from '../model/run.ts';
import { follow } from '../ui/follow.ts';
import { Scroll } from '../ui/scroll.tsx';
import { busiest, lanes, progress, runs, traffic } from './store.ts';

const MOST_ROWS = 8;

export function ByKey() {
  const { names } = traffic.value;
  const shares = useComputed(() => {
    follow(progress);
    return [...runs.value.values()].map((run) => ({
      admitted: perKey(run.admitted, run.traffic.keys, run.traffic.names.length),
      denied: perKey(run.denied, run.traffic.keys, run.traffic.names.length),
    }));
  }).value;
  if (names.length < 2) return null;
  return (
    <section class="by-key">
      <h2>By key</h2>
      <p class="muted">
        Requests admitted and denied in the whole run, for the {Math.min(MOST_ROWS, names.length)} busiest
        keys.
      </p>
      <Scroll label="By key">
        <table>
          <thead>
            <tr>
              <th scope="col">key</th>
              {lanes.value.map(({ id, good }) => (
                <th key={id} scope="col" colSpan={2}>
                  {good}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {busiest.value.slice(0, MOST_ROWS).map((key) => (
              <tr key={key}>
                <th scope="row">{names[key]}</th>
                {shares.flatMap(({ admitted, denied }, lane) => [
                  <td key={`a${lane}`} class="admitted">
                    {showNumber(admitted[key] ?? 0)}
                  </td>,
                  <td key={`d${lane}`} class={denied[key] > 0 ? 'denied' : 'muted'}>
                    {showNumber(denied[key] ?? 0)}
                  </td>,
                ])}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

function perKey(list: Outcomes, keys: Uint32Array, count: number): Uint32Array {
  const counts = new Uint32Array(count);
  for (let i = 0; i < list.count; i++) counts[keys[list.event[i]]]++;
  return counts;
}
