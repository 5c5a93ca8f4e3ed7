// The claims of every store over Deno KV, by way of the example. Only on Deno.
import { casStore } from 'sluice';
import { conformance } from 'sluice/testing';
import { judged } from './run.mjs';
import { denoKv } from './stores/deno-kv.mjs';

const Deno = /** @type {any} */ (globalThis).Deno;
const kv = await Deno.openKv(':memory:');
console.log(
  JSON.stringify(await judged(conformance((clock) => casStore(denoKv(kv), { clock, deadline: 5000 })))),
);
kv.close();
