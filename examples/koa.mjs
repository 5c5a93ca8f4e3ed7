// @ts-check
// Rate limits in Koa. Try it:
//
//   npm run build && node examples/koa.mjs
//   curl -i localhost:3000          five a minute; with -H 'authorization: token-1', a separate limit

import Koa from 'koa';
import { createLimiter } from 'sluice';
import { key } from 'sluice/http';
import { rateLimit } from 'sluice/koa';

const limiter = createLimiter('5/min');
/** Stands in for the sessions of your application. */
const users = new Map([['token-1', 'alice']]);

const app = new Koa();
app.use(async (context, next) => {
  await next();
  console.log(context.method, context.url, context.status);
});

app.use(
  rateLimit({
    limiter,
    // For an unknown token, the key is undefined, and the client is limited by its address.
    key: ({ req }) => {
      const user = users.get(req.headers.authorization ?? '');
      return user === undefined ? undefined : key('user', user);
    },
  }),
);

app.use((context) => {
  context.body = 'Hello\n';
});

const server = app.listen(Number(process.env['PORT'] ?? 3000), () => {
  const address = server.address();
  console.log(`listening on http://localhost:${typeof address === 'object' && address?.port}`);
});
