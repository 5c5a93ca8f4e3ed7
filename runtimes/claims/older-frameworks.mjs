// Claims about the oldest framework versions that work with the middleware: Fastify 4, Hono 3 and NestJS 10.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { createLimiter } from 'sluice';
import { rateLimit as fastify } from 'sluice/fastify';
import { rateLimit as hono } from 'sluice/hono';
import { RateLimitModule } from 'sluice/nest';
import { judged, same } from './run.mjs';

const options = () => ({ limiter: createLimiter({ hour: '1/h' }), key: () => 'alice' });
const EXPECTED = [
  [200, '"hour";q=1;w=3600'],
  [429, '"hour";q=1;w=3600'],
];

/** The status and a header of two requests to a Fastify server. */
const twice = async (server) => {
  const responses = [await server.inject('/'), await server.inject('/')];
  return responses.map(({ statusCode, headers }) => [statusCode, headers['ratelimit-policy']]);
};

const claims = [
  {
    name: 'Fastify 4',
    async run() {
      const server = Fastify();
      await server.register(fastify, options());
      server.get('/', async () => 'hello');
      same(await twice(server), EXPECTED);
      await server.close();
    },
  },
  {
    name: 'Hono 3',
    async run() {
      const app = new Hono();
      app.use('*', hono(options()));
      app.get('/hello', (context) => context.text('hello'));
      const responses = [await app.request('/hello'), await app.request('/hello')];
      same(
        responses.map(({ status, headers }) => [status, headers.get('ratelimit-policy')]),
        EXPECTED,
      );
    },
  },
  {
    name: 'NestJS 10',
    async run() {
      class Home {
        hello() {
          return 'hello';
        }
      }
      Get()(Home.prototype, 'hello', Object.getOwnPropertyDescriptor(Home.prototype, 'hello'));
      Controller()(Home);
      class Application {}
      Module({ imports: [RateLimitModule.forRoot(options())], controllers: [Home] })(Application);
      const application = await NestFactory.create(Application, new FastifyAdapter(), { logger: ['error'] });
      await application.init();
      same(await twice(application.getHttpAdapter().getInstance()), EXPECTED);
      await application.close();
    },
  },
];
console.log(JSON.stringify(await judged(claims)));
