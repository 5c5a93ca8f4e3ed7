// Where nothing prints: asked once, answers with what was found.
import { CLAIMS } from './claims.mjs';
import { judged } from './run.mjs';

export default {
  fetch: async () => Response.json(await judged(CLAIMS)),
};
