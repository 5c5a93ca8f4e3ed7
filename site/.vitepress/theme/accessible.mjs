import { useData, useRoute } from 'vitepress';
import { nextTick, onMounted, watch } from 'vue';

/** Corrects the roles of some elements of VitePress's theme, which has no options for them. */
export function correctRoles() {
  const { frontmatter } = useData();
  const route = useRoute();
  async function correct() {
    await nextTick();
    // Only the other layouts have a main element.
    const content = document.querySelector('#VPContent');
    if (frontmatter.value.layout === 'home') content?.setAttribute('role', 'main');
    else content?.removeAttribute('role');
    // The title of a group in the sidebar is a button that does the same as the caret in it.
    for (const caret of document.querySelectorAll('.VPSidebarItem > .item[role="button"] > .caret')) {
      caret.removeAttribute('role');
      caret.removeAttribute('tabindex');
      caret.setAttribute('aria-hidden', 'true');
    }
  }
  onMounted(() => watch(() => route.path, correct, { immediate: true, flush: 'post' }));
}
