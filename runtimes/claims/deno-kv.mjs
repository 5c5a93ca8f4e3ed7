// Runs the conformance suite and the race tests on the example store for Deno KV. Runs only on Deno.
import { casStore } from 'sluice';
import { conformance } from 'sluice/testing';
import { races } from './races.mjs';
import { judged } from './run.mjs';
import { denoKv } from './stores/deno-kv.mjs';

const Deno = /** @type {any} */ (globalThis).Deno;
const kv = await Deno.openKv(':memory:');
const claims = [
  ...conformance((clock) => casStore(denoKv(kv), { clock, deadline: 5000 })),
  ...races(() => denoKv(kv)),
];
console.log(JSON.stringify(await judged(claims)));
kv.close();
