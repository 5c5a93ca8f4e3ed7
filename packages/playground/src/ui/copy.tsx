/** A button that copies text to the clipboard and shows a confirmation. */
import { useSignal } from '@preact/signals';

export function Copy({ text, label }: { readonly text: () => string; readonly label: string }) {
  const said = useSignal('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      said.value = 'Copied';
    } catch {
      said.value = 'Copying is not allowed'; // browsers require a secure origin
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
