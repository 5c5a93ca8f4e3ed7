// The claims about the packed package that must hold on every runtime.
import { CORE } from './core.mjs';
import { FETCH } from './fetch.mjs';
import { REMOTE } from './remote.mjs';

/** @type {readonly import('./run.mjs').Claim[]} */
export const CLAIMS = [...CORE, ...FETCH, ...REMOTE];
