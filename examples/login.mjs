// @ts-check
// A login that resists password guessing, and that does not let other clients lock out the owner of an account. Try it:
//
//   npm run build && node examples/login.mjs
//   curl -i -d 'user=alice&password=guess' localhost:3000/login     five failures; then 429, and blocks that get longer
//   curl -i -d 'user=alice&password=secret' localhost:3000/login    the owner, as long as this address is not blocked

import express from 'express';
import { createLimiter, penalty } from 'sluice';
import { rateLimit } from 'sluice/express';
import { key } from 'sluice/http';

const perPair = createLimiter({
  attempts: '5/10min sliding-log',
  day: '20/day sliding-log',
  lockout: penalty({ after: 10, within: '1h', block: '15m' }),
});

/** @param {express.Request} request */
const address = ({ ip }) => ip ?? '';
/** @param {express.Request} request */
const pair = (request) => key(String(request.body?.user ?? '').toLowerCase(), address(request));
/**
 * The attempt is charged before the login, and refunded unless the login fails. @param {unknown} _request @param {{ status:
 * number }} outcome
 */
const settle = (_request, { status }) => (status === 401 ? 1 : 0);

const perAddress = { limiter: createLimiter({ address: '50/h' }), key: address, settle };
const guessing = rateLimit({ limits: [{ limiter: perPair, key: pair, settle }, perAddress] });

const app = express().use(express.urlencoded());
app.post('/login', guessing, ({ body }, response) => {
  response.sendStatus(body.password === 'secret' ? 204 : 401);
});
const server = app.listen(Number(process.env['PORT'] ?? 3000), (error) => {
  if (error) throw error;
  const bound = server.address();
  console.log(`listening on http://localhost:${typeof bound === 'object' && bound?.port}`);
});
