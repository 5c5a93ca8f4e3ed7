/**
 * The light or dark theme. It is the system's theme, unless the user has chosen a theme. In a frame, it is always the theme of the
 * page around the frame, which browsers report to the frame as the system's theme.
 */
import { computed, effect, signal } from '@preact/signals';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** Whether another page shows this page in a frame. The style sheet hides what the page around the frame shows itself. */
const isFramed = window.parent !== window;
document.documentElement.classList.toggle('framed', isFramed);

const KEPT = 'sluice-theme';

function kept(): Theme {
  if (isFramed) return 'auto';
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEPT)) ?? 'auto';
  } catch {
    return 'auto'; // browsers may deny storage to file:// pages
  }
}

export const theme = signal<Theme>(kept());

const system = matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(system.matches);
system.addEventListener('change', () => {
  systemDark.value = system.matches;
});

export const isDark = computed(() => (theme.value === 'auto' ? systemDark.value : theme.value === 'dark'));

effect(() => {
  document.documentElement.style.colorScheme = theme.value === 'auto' ? 'light dark' : theme.value;
  if (isFramed) return;
  try {
    localStorage.setItem(KEPT, theme.value);
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
});
