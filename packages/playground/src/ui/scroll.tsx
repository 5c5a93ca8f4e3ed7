/** What may be wider than the page. The keyboard reaches it, so that arrows can move it. */
import type { ComponentChildren } from 'preact';

export function Scroll({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
