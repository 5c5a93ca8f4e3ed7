/** The page's colours as a canvas needs them. */
const NAMES = ['ink', 'muted', 'line', 'surface', 'admitted', 'denied', 'level', 'accent'] as const;
export type Palette = Readonly<Record<(typeof NAMES)[number], string>>;

/** Resolved by the browser: the style sheet may say light-dark() or anything else. */
export function readPalette(): Palette {
  const probe = document.createElement('span');
  document.body.append(probe);
  const colours = NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color] as const;
  });
  probe.remove();
  return Object.fromEntries(colours) as Palette;
}
