/** Shows what a key has left, and resets or blocks it. */
import { useSignal, useSignalEffect } from '@preact/signals';
import { useId, useRef } from 'preact/hooks';
import type { LimitAnswer } from './answer.ts';
import { ask, type KeyVerb } from './ask.ts';
import { explain } from './explain.ts';
import { TokenField } from './token-field.tsx';
import { askable, config } from './watch.ts';
import { asked, lookups } from './why-link.ts';

const DONE: Readonly<Record<KeyVerb, string>> = { peek: '', reset: 'Reset: ', block: 'Blocked: ' };

export function KeyPanel() {
  const id = useId();
  const duration = useSignal('10m');
  const answer = useSignal<Answered | undefined>(undefined);
  const panel = useRef<HTMLElement>(null);
  const { key } = asked.value;
  const limit = asked.value.limit || ([...askable.value][0] ?? '');

  async function send(verb: KeyVerb): Promise<void> {
    const { key } = asked.peek();
    const limit = asked.peek().limit || ([...askable.peek()][0] ?? '');
    const question = { limit, key, ...(verb === 'block' && { duration: duration.value }) };
    try {
      answer.value = { verb, limit, key, said: await ask(verb, question) };
    } catch (error) {
      answer.value = { verb, limit, key, said: error instanceof Error ? error.message : String(error) };
    }
  }

  // A link in the list of denied keys, or in the address bar, asks for an explanation.
  useSignalEffect(() => {
    if (lookups.value === 0) return;
    void send('peek').then(() => panel.current?.focus());
  });

  return (
    <section class="card key-panel" ref={panel} tabIndex={-1} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>Why is a key denied?</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send('peek');
        }}
      >
        <label for={`${id}-limit`}>Limit</label>
        <select
          id={`${id}-limit`}
          value={limit}
          onChange={(event) => {
            asked.value = { ...asked.value, limit: event.currentTarget.value };
          }}
        >
          {[...askable.value].map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <label for={`${id}-key`}>Key</label>
        <input
          id={`${id}-key`}
          type="text"
          value={key}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => {
            asked.value = { limit, key: event.currentTarget.value };
          }}
        />
        <button type="submit" disabled={key === ''}>
          Look up
        </button>
      </form>
      <div class="key-answer" role="status">
        {answer.value === undefined ? (
          <span class="muted">
            Explains what a key has left under each policy, and when its next request passes.
          </span>
        ) : (
          <Said answered={answer.value} />
        )}
      </div>
      <div class="key-acts">
        <TokenField label="Admin token" />
        <button type="button" disabled={key === ''} onClick={() => void send('reset')}>
          Reset
        </button>
        <button type="button" disabled={key === ''} onClick={() => void send('block')}>
          Block for
        </button>
        <input
          type="text"
          class="span"
          aria-label="How long to block"
          value={duration.value}
          onInput={(event) => {
            duration.value = event.currentTarget.value;
          }}
        />
      </div>
    </section>
  );
}

interface Answered {
  readonly verb: KeyVerb;
  readonly limit: string;
  readonly key: string;
  readonly said: LimitAnswer | string;
}

function Said({ answered: { verb, limit, key, said } }: { readonly answered: Answered }) {
  if (typeof said === 'string') return <span class="denied">{said}</span>;
  const loaded = config.value?.limits.find(({ name }) => name === limit);
  const { isAllowed, summary, policies } = explain(said, loaded?.policies ?? limit);
  return (
    <>
      <p class={isAllowed ? 'verdict' : 'verdict is-denied'}>
        {DONE[verb]}
        <code>{key}</code> {summary}
        {!isAllowed &&
          loaded?.shadow === true &&
          ' The limit is in shadow mode, so its requests pass anyway.'}
      </p>
      <ul>
        {policies.map(({ name, sentence, ...policy }) => (
          <li key={name} class={policy.isAllowed ? '' : 'is-denied'}>
            <code>{name}</code> <span>{sentence}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
