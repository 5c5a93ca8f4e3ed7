import { render } from 'preact';
import { App } from './app.tsx';
import { startRouting } from './route.ts';

startRouting();
render(<App />, document.getElementById('app') as HTMLElement);
