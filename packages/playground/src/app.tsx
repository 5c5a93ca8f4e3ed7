/** The frame around the three parts of the page. */
import { Learn } from './learn/learn.tsx';
import { Live } from './live/live.tsx';
import { Playground } from './playground/playground.tsx';
import { query } from './playground/store.ts';
import { PARTS, part } from './route.ts';
import { type Theme, THEMES, theme } from './ui/theme.ts';

const TITLES = { playground: 'Playground', learn: 'Learn', live: 'Live' } as const;

export function App() {
  return (
    <>
      <header class="top">
        <a class="brand" href="#playground">
          <svg viewBox="0 0 32 32" aria-hidden="true">
            <path d="M7 5v22M25 5v22" />
            <path class="gate" d="M11 6h10v8H11z" />
            <path class="water" d="M11 20c1.7-2 3.3-2 5 0s3.3 2 5 0M11 25.5c1.7-2 3.3-2 5 0s3.3 2 5 0" />
          </svg>
          Sluice
        </a>
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
