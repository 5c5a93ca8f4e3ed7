// @ts-check
// Five requests in ten seconds per address, and two orders a minute. Plain JavaScript has no decorators, so this example
// calls them as functions: `Get()(Shop.prototype, 'list', …)` is `@Get() list() {}`.
//   node examples/nest.mjs
//   for i in 1 2 3 4 5 6; do curl -i localhost:3000/; done
//   for i in 1 2 3; do curl -i localhost:3000/order; done

import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createLimiter } from 'sluice';
import { RateLimit, RateLimitModule } from 'sluice/nest';

class Shop {
  list() {
    return 'apples, pears\n';
  }

  order() {
    return 'ordered\n';
  }
}

/** @param {'list' | 'order'} name @param {MethodDecorator[]} decorators */
function decorate(name, ...decorators) {
  const method = Object.getOwnPropertyDescriptor(Shop.prototype, name) ?? {};
  for (const decorator of decorators) decorator(Shop.prototype, name, method);
}
Controller()(Shop);
decorate('list', Get());
decorate('order', Get('order'), RateLimit({ limiter: createLimiter({ orders: '2/min' }) }));

class App {}
const limits = RateLimitModule.forRoot({ limiter: createLimiter({ all: '5/10s' }) });
Module({ imports: [limits], controllers: [Shop] })(App);

const app = await NestFactory.create(App);
await app.listen(process.env['PORT'] ?? 3000);
console.log(`listening on ${await app.getUrl()}`);
