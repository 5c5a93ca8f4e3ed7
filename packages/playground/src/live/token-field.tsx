/** Follows every key: the page is drawn anew each second, and what it did not know it would erase. */
import { retryRefused, token } from './watch.ts';

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
        onChange={retryRefused}
      />
    </label>
  );
}
