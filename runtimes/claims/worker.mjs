// Runs the claims on runtimes without a console, and responds to each request with the results.
import { CLAIMS } from './claims.mjs';
import { judged } from './run.mjs';

export default {
  fetch: async () => Response.json(await judged(CLAIMS)),
};
