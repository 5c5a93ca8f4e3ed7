/**
 * The input field for the token. It stores the token on every keystroke, because the page renders every second and would
 * otherwise erase the input.
 */
import { reconnect, token } from './watch.ts';

export function TokenField({ label }: { readonly label: string }) {
  return (
    <label>
      <span class="muted">{label}</span>
      <input
        type="password"
        autocomplete="off"
        value={token.value}
        onInput={(event) => {
          token.value = event.currentTarget.value.trim();
        }}
        onChange={reconnect}
      />
    </label>
  );
}
