import Theme from 'vitepress/theme-without-fonts';
import { correctRoles } from './accessible.mjs';
import { Playground } from './playground.mjs';
import '../../../docs/brand/colors.css';
import './style.css';

export default {
  extends: Theme,
  setup: correctRoles,
  enhanceApp({ app }) {
    app.component('Playground', Playground);
  },
};
