/** Shows what a key has left, and resets or blocks it. */
import { signal, useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { showNumber, showDuration } from '../model/format.ts';
import type { LimitAnswer } from './answer.ts';
import { ask, type KeyVerb } from './ask.ts';
import { TokenField } from './token-field.tsx';
import { askable } from './watch.ts';

/** The content of the form. A click in the list of denied keys also fills the form. */
export const asked = signal({ limit: '', key: '' });

const DONE: Readonly<Record<KeyVerb, string>> = { peek: 'Now', reset: 'Reset', block: 'Blocked' };

export function KeyPanel() {
  const id = useId();
  const duration = useSignal('10m');
  const answer = useSignal<{ verb: KeyVerb; key: string; said: LimitAnswer | string } | undefined>(undefined);
  const { key } = asked.value;
  const limit = asked.value.limit || ([...askable.value][0] ?? '');

  async function send(verb: KeyVerb): Promise<void> {
    const question = { limit, key, ...(verb === 'block' && { duration: duration.value }) };
    try {
      answer.value = { verb, key, said: await ask(verb, question) };
    } catch (error) {
      answer.value = { verb, key, said: error instanceof Error ? error.message : String(error) };
    }
  }

  return (
    <section class="card key-panel">
      <h2>A key</h2>
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
          <span class="muted">Shows what a key has left and how long it must wait.</span>
        ) : (
          <Said {...answer.value} />
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

function Said({
  verb,
  key,
  said,
}: {
  readonly verb: KeyVerb;
  readonly key: string;
  readonly said: LimitAnswer | string;
}) {
  if (typeof said === 'string') return <span class="denied">{said}</span>;
  return (
    <span>
      {DONE[verb]}: <code>{key}</code> has{' '}
      <b>
        {showNumber(said.remaining)} of {showNumber(said.limit)}
      </b>{' '}
      left
      {said.allowed ? '.' : `, and may pass in ${showDuration(said.retryAfter)}.`}{' '}
      <span class="muted">
        {said.policy} · fully replenished in {showDuration(said.resetAfter)}
      </span>
    </span>
  );
}
