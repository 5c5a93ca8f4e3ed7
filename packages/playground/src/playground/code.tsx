/** The limits of the page as code. */
import { signal } from '@preact/signals';
import { codeOf, LANGUAGES } from '../model/code.ts';
import { Copy } from '../ui/copy.tsx';
import { state } from './store.ts';

const language = signal<(typeof LANGUAGES)[number]>('TypeScript');

export function Code() {
  const code = codeOf(language.value, state.value);
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
        <Copy label="Copy" text={() => code} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, so the keyboard must reach it */}
      <pre tabIndex={0} aria-label={`${language.value} code`} role="region">
        <code>{code}</code>
      </pre>
    </section>
  );
}
