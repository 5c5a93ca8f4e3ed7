/** A container for content that may be wider than the page. It is focusable, so that it can be scrolled with the keyboard. */
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
