/** Which part is shown, and what its link carries. Behind the #, so that any static server will do. */
import { effect, signal } from '@preact/signals';
import { fromQuery } from './model/state.ts';
import { query, show } from './playground/store.ts';

export const PARTS = ['playground', 'learn', 'live'] as const;
export type PartName = (typeof PARTS)[number];

function read(): { part: PartName; text: string } {
  const [name = '', text = ''] = location.hash.slice(1).split(/\?(.*)/s);
  return { part: PARTS.find((one) => one === name) ?? 'playground', text };
}

export const part = signal<PartName>('playground');

function follow(): void {
  const { part: name, text } = read();
  if (name === 'playground' && text !== query.peek()) show(fromQuery(text));
  part.value = name;
}

export function startRouting(): void {
  show(fromQuery(read().text));
  follow();
  addEventListener('hashchange', follow);
  effect(() => {
    const next = `#playground?${query.value}`;
    if (part.value === 'playground' && location.hash !== next) history.replaceState(null, '', next);
  });
}
