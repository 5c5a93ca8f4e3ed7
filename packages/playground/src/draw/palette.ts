/** The page's colors in the form that a canvas needs. */
const NAMES = ['ink', 'muted', 'line', 'surface', 'admitted', 'denied', 'level', 'accent'] as const;
export type Palette = Readonly<Record<(typeof NAMES)[number], string>>;

/**
 * Reads the colors of the style sheet. The browser resolves them, because the style sheet may use light-dark() or other
 * functions.
 */
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
