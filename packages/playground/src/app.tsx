/** The frame around the three parts of the page. */
import logo from '../../../docs/brand/logo.svg?raw';
import { Learn } from './learn/learn.tsx';
import { Live } from './live/live.tsx';
import { Playground } from './playground/playground.tsx';
import { query } from './playground/store.ts';
import { PARTS, part } from './route.ts';
import { type Theme, THEMES, theme } from './ui/theme.ts';

const TITLES = { playground: 'Playground', learn: 'Learn', live: 'Live' } as const;

/** The address of the documentation, if the page is part of the documentation site. The server's page has no such link. */
const docs = document.querySelector<HTMLLinkElement>('link[rel=help]')?.href;

export function App() {
  return (
    <>
      <header class="top">
        <a class="brand" href="#playground" dangerouslySetInnerHTML={{ __html: logo }} />
        <nav aria-label="Parts">
          {PARTS.map((name) => (
            <a
              key={name}
              href={name === 'playground' ? `#playground?${query.value}` : `#${name}`}
              aria-current={part.value === name ? 'page' : undefined}
            >
              {TITLES[name]}
            </a>
          ))}
          {docs !== undefined && <a href={docs}>Docs</a>}
        </nav>
        <select
          class="theme"
          aria-label="Color theme"
          value={theme.value}
          onChange={(event) => {
            theme.value = event.currentTarget.value as Theme;
          }}
        >
          {THEMES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </header>
      {part.value === 'playground' && <Playground />}
      {part.value === 'learn' && <Learn />}
      {part.value === 'live' && <Live />}
    </>
  );
}
