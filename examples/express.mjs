// @ts-check
// Rate limits in Express. Try it:
//
//   npm run build && node examples/express.mjs
//   curl -i localhost:3000            ten a minute per address; the eleventh gets 429
//   curl -i -X POST localhost:3000/login   three failed logins an hour; successful ones cost nothing

import express from 'express';
import { createLimiter } from 'sluice';
import { rateLimit } from 'sluice/express';

const everywhere = createLimiter({ burst: '5/s', minute: '10/min' });
const logins = createLimiter({ login: '3/h' });

const app = express();
app.use(rateLimit({ limiter: everywhere, trustProxy: 'loopback' }));

app.get('/', (_request, response) => {
  response.send('Hello\n');
});

// This limit applies in addition to the limits above. It is charged before the login, and refunded unless the login fails.
const failedLogins = rateLimit({
  limiter: logins,
  trustProxy: 'loopback',
  settle: (_request, { status }) => (status === 401 ? 1 : 0),
});
app.post('/login', failedLogins, (_request, response) => {
  response.status(401).send('Wrong password\n');
});

const server = app.listen(Number(process.env['PORT'] ?? 3000), (error) => {
  if (error) throw error;
  const address = server.address();
  console.log(`listening on http://localhost:${typeof address === 'object' && address?.port}`);
});
