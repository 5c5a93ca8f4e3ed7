// Claims about the package as it is packed, the same on every runtime.
import { CORE } from './core.mjs';
import { FETCH } from './fetch.mjs';
import { SMALL } from './small.mjs';

/** @type {readonly import('./run.mjs').Claim[]} */
export const CLAIMS = [...CORE, ...SMALL, ...FETCH];
