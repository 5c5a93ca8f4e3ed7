/** Keeps the visible part of the page, and its state, in the URL fragment, so that any static server can serve the page. */
import { effect, signal } from '@preact/signals';
import { followWhyLink } from './live/why-link.ts';
import { fromQuery } from './model/state.ts';
import { query, show } from './playground/store.ts';

export const PARTS = ['playground', 'learn', 'live'] as const;
export type PartName = (typeof PARTS)[number];

function read(): { part: PartName; text: string } {
  const [name = '', text = ''] = location.hash.slice(1).split(/\?(.*)/s);
  return { part: PARTS.find((one) => one === name) ?? 'playground', text };
}

/**
 * Milliseconds to wait before the URL is updated, because browsers reject URL changes that are as frequent as the moves of a
 * slider.
 */
const SETTLED = 200;

export const part = signal<PartName>('playground');

function follow(): void {
  const { part: name, text } = read();
  if (name === 'playground' && text !== query.peek()) show(fromQuery(text));
  if (name === 'live') followWhyLink(text);
  if (name !== part.peek()) scrollTo(0, 0);
  part.value = name;
}

export function startRouting(): void {
  const { part: name, text } = read();
  show(fromQuery(name === 'live' ? '' : text));
  if (name === 'live') followWhyLink(text);
  part.value = name;
  addEventListener('hashchange', follow);
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const next = `#playground?${query.value}`;
    clearTimeout(timer);
    if (part.value !== 'playground' || location.hash === next) return;
    timer = setTimeout(() => history.replaceState(null, '', next), SETTLED);
  });
}

/** A link to what the page shows now, even if the URL has not been updated yet. */
export function linkHere(): string {
  return `${location.href.split('#')[0]}#playground?${query.peek()}`;
}
