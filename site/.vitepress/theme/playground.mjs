import { withBase } from 'vitepress';
import { defineComponent, h, onBeforeUnmount, onMounted, ref } from 'vue';

/** The playground in a frame, and a link to it. */
export const Playground = defineComponent({
  props: {
    /** The limits and the traffic, as in a link to the playground. */
    query: { type: String, required: true },
    /** The number of limits, from which the height is estimated until the frame is loaded. */
    lanes: { type: Number, required: true },
  },
  setup(props) {
    const frame = ref();
    const height = ref(260 + props.lanes * 330);
    let observer;

    /** Makes the frame as high as its content, so that only the page scrolls. */
    function fit() {
      const content = frame.value?.contentDocument?.querySelector('#app');
      if (!content) return;
      observer?.disconnect();
      observer = new ResizeObserver(() => {
        if (content.offsetHeight > 0) height.value = content.offsetHeight;
      });
      observer.observe(content);
    }

    // The frame may have been loaded before this script.
    onMounted(fit);
    onBeforeUnmount(() => observer?.disconnect());

    return () => {
      const address = withBase(`/play/index.html#playground?${props.query}`);
      return h('div', { class: 'try' }, [
        h('p', [
          h('strong', 'Try it.'),
          ' Change the limits or the traffic. ',
          h('a', { href: address, target: '_blank' }, 'Open in the playground'),
        ]),
        h('iframe', {
          ref: frame,
          src: address,
          style: { height: `${height.value}px` },
          title: 'Playground',
          loading: 'lazy',
          onLoad: fit,
        }),
      ]);
    };
  },
});
