/** Puts a text on the clipboard and says so. */
import { useSignal } from '@preact/signals';

export function Copy({ text, label }: { readonly text: () => string; readonly label: string }) {
  const said = useSignal('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      said.value = 'Copied';
    } catch {
      said.value = 'The browser refused'; // as it does without a secure origin
    }
    setTimeout(() => {
      said.value = '';
    }, 2000);
  };
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      <span aria-live="polite">{said.value || label}</span>
    </button>
  );
}
