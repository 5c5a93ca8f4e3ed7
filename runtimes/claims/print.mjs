import { CLAIMS } from './claims.mjs';
import { judged } from './run.mjs';

console.log(JSON.stringify(await judged(CLAIMS)));
