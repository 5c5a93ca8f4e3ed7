// Loads the packed packages with require() and with import(), and claims that both results can be used together. The argument says
// how many copies the runtime is expected to load: 1 or 2.
const { createServer } = require('node:http');
const commonJs = {
  ...require('sluice'),
  express: require('sluice/express').rateLimit,
  redis: require('sluice/redis').redis,
  sluiceStore: require('sluice-compat/express-rate-limit').sluiceStore,
};

async function main() {
  const { judged, same, thrown } = await import('./run.mjs');
  const { default: client } = await import('redis');
  const modules = {
    ...(await import('sluice')),
    express: (await import('sluice/express')).rateLimit,
    redis: (await import('sluice/redis')).redis,
    sluiceStore: (await import('sluice-compat/express-rate-limit')).sluiceStore,
  };
  const copies = [modules, commonJs];

  const claims = [
    {
      name: 'the runtime loads the expected number of copies',
      run: () => same(new Set(copies.map((one) => one.createLimiter)).size, Number(process.argv[2])),
    },
    {
      name: 'a limiter accepts a store and a policy of the other copy',
      run() {
        const store = commonJs.memory();
        const limiter = modules.createLimiter(commonJs.gcra({ limit: 2, per: '1h' }), { store });
        same(
          [1, 2, 3].map(() => limiter.take('a').allowed),
          [true, true, false],
        );
      },
    },
    {
      name: 'instanceof recognizes the errors of the other copy, and only those',
      async run() {
        for (const [one, other] of [copies, copies.toReversed()]) {
          const invalid = await thrown(() => one.createLimiter('many/min'));
          const limiter = one.createLimiter('1/h');
          const denied = await thrown(() =>
            limiter.run('a', () => limiter.run('a', () => 1, { timeout: 0 })),
          );
          same(
            [invalid, denied].map((error) => [
              error instanceof other.SluiceError,
              error instanceof other.DeniedError,
              error instanceof other.StoreUnavailable,
            ]),
            [
              [true, false, false],
              [false, true, false],
            ],
          );
          class Special extends other.SluiceError {}
          same(invalid instanceof Special, false);
          same(new Special('ERR_COST', 'cost', -1) instanceof one.SluiceError, true);
        }
      },
    },
    {
      name: 'a name that a limiter of the other copy uses for other policies is rejected',
      async run() {
        const store = modules.memory();
        modules.createLimiter('1/h', { store, name: 'api' });
        const error = await thrown(() => commonJs.createLimiter('1/h sliding-log', { store, name: 'api' }));
        same(error.code, 'ERR_NAME');
      },
    },
    {
      name: 'unnamed limiters of different copies count separately',
      run() {
        const store = modules.memory();
        const limiters = copies.map((one) => one.createLimiter(() => '1/h', { store }));
        same(
          limiters.map((limiter) => limiter.take('a').allowed),
          [true, true],
        );
      },
    },
    {
      name: 'takeMany decides limiters of both copies in one step',
      run() {
        const store = modules.memory();
        const [one, other] = copies.map((copy, i) =>
          copy.createLimiter('1/h', { store, name: `limiter ${i}` }),
        );
        same(one.takeMany([{ key: 'a' }, { key: 'b', limiter: other }]).atomic, true);
      },
    },
    {
      name: 'two middlewares of different copies announce both limits',
      async run() {
        const [outer, inner] = copies.map((copy, i) =>
          copy.express(copy.createLimiter({ [`limit${i}`]: '9/h' })),
        );
        const server = createServer((request, response) =>
          outer(request, response, () => inner(request, response, () => response.end())),
        );
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
        const { headers } = await fetch(`http://127.0.0.1:${server.address().port}/`);
        server.close();
        server.closeAllConnections();
        same(headers.get('ratelimit-policy'), '"limit0";q=9;w=3600,"limit1";q=9;w=3600');
      },
    },
    {
      name: 'stores of both copies add one error listener to a Redis client',
      run() {
        const connection = client.createClient();
        for (const copy of copies) copy.redis(connection);
        same(connection.listenerCount('error'), 1);
      },
    },
    {
      name: 'drop-ins of both copies do not share the default prefix of a store',
      async run() {
        const store = modules.memory();
        modules.sluiceStore({ store });
        same((await thrown(() => commonJs.sluiceStore({ store }))).code, 'ERR_MISSING_OPTION');
      },
    },
  ];
  console.log(JSON.stringify(await judged(claims)));
}

void main();
