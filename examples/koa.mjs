// @ts-check
// Koa behind Sluice. Try it:
//
//   npm run build && node examples/koa.mjs
//   curl -i localhost:3000          five a minute; the sixth is 429, and the log shows it
//   curl -i 'localhost:3000?user=alice'     a key of its own

import Koa from 'koa';
import { createLimiter } from 'sluice';
import { clientAddress, key } from 'sluice/http';
import { rateLimit } from 'sluice/koa';

const limiter = createLimiter('5/min');

const app = new Koa();
app.use(async (context, next) => {
  await next();
  console.log(context.method, context.url, context.status);
});

app.use(
  rateLimit({
    limiter,
    key: ({ req }) => {
      const user = new URL(req.url ?? '/', 'http://localhost').searchParams.get('user');
      return user === null ? key('address', clientAddress(req)) : key('user', user);
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
