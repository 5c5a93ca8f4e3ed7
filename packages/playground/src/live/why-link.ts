/** The key that the panel explains. It is in the URL fragment, so that an explanation has a link. */
import { signal } from '@preact/signals';

/** The content of the form. */
export const asked = signal({ limit: '', key: '' });
/** Changes whenever the key in `asked` must be looked up. */
export const lookups = signal(0);

export function whyLink(limit: string, key: string): string {
  return `#live?${new URLSearchParams({ limit, key }).toString()}`;
}

/** Looks up the key that the query of a link to Live names. Does nothing if the query names no key. */
export function followWhyLink(text: string): void {
  const query = new URLSearchParams(text);
  const [limit, key] = [query.get('limit') ?? '', query.get('key') ?? ''];
  if (key === '') return;
  asked.value = { limit, key };
  lookups.value++;
}
