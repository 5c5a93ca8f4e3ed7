// The claims of every store over node:sqlite, by way of the example. Only on Node, from 22.5 on.
import { DatabaseSync } from 'node:sqlite';
import { casStore } from 'sluice';
import { conformance } from 'sluice/testing';
import { judged } from './run.mjs';
import { sqlite } from './stores/sqlite.mjs';

const make = (/** @type {any} */ clock) =>
  casStore(sqlite(new DatabaseSync(':memory:')), { clock, deadline: 5000 });
console.log(JSON.stringify(await judged(conformance(make))));
