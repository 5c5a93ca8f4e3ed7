/** Shows the limits of the page as code. */
import { signal } from '@preact/signals';
import { codeOf, fileOf, LANGUAGES, TRAFFIC_FILE } from '../model/code.ts';
import { Copy } from '../ui/copy.tsx';
import { Scroll } from '../ui/scroll.tsx';
import { recording, state, traffic } from './store.ts';

const language = signal<(typeof LANGUAGES)[number]>('TypeScript');

export function Code() {
  const code = codeOf(language.value, state.value, recording.value);
  return (
    <section class="code">
      <div class="code-head">
        <h2>As code</h2>
        <fieldset class="chips">
          <legend class="hidden">Language</legend>
          {LANGUAGES.map((one) => (
            <label key={one}>
              <input
                type="radio"
                name="language"
                checked={one === language.value}
                onChange={() => {
                  language.value = one;
                }}
              />
              <span>{one}</span>
            </label>
          ))}
        </fieldset>
        <div class="code-acts">
          {code.includes(TRAFFIC_FILE) && (
            <button type="button" onClick={save}>
              Save {TRAFFIC_FILE}
            </button>
          )}
          <Copy label="Copy" text={() => code} />
        </div>
      </div>
      <Scroll label={`${language.value} code`}>
        <pre>
          <code>{code}</code>
        </pre>
      </Scroll>
    </section>
  );
}

/** Saves the traffic of the page as a file for the command line. */
function save(): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([fileOf(traffic.peek())], { type: 'text/plain' }));
  link.download = TRAFFIC_FILE;
  link.click();
  URL.revokeObjectURL(link.href);
}
