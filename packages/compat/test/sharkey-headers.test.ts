/** Tests the headers of sluice-compat/sharkey with real servers. */
import express from 'express';
import Fastify from 'fastify';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type LimitInfo, sendRateLimitHeaders } from '../src/sharkey.ts';

describe('rate-limit headers over a socket', () => {
  const BLOCKED: LimitInfo = {
    blocked: true,
    remaining: 0,
    resetSec: 1,
    resetMs: 250,
    fullResetSec: 5,
    fullResetMs: 4250,
  };
  const sent = {
    'x-ratelimit-clear': '4.250',
    'x-ratelimit-remaining': '0',
    'retry-after': '1',
    'x-ratelimit-reset': '0.250',
  };
  let server: Server | undefined;
  afterEach(() => server?.close());

  async function headersFrom(listener: RequestListener) {
    const own = createServer(listener);
    server = own;
    await new Promise<void>((resolve) => void own.listen(0, '127.0.0.1', resolve));
    const { headers } = await fetch(`http://127.0.0.1:${(own.address() as AddressInfo).port}/`);
    return Object.fromEntries(headers);
  }

  test('reach the client of an Express 5 server', async () => {
    const app = express();
    app.get('/', (_, response) => {
      sendRateLimitHeaders(response, BLOCKED);
      response.end();
    });
    expect(await headersFrom(app as unknown as RequestListener)).toMatchObject(sent);
  });

  test('reach the client of a Fastify server', async () => {
    const app = Fastify();
    app.get('/', async (_, reply) => {
      sendRateLimitHeaders(reply, BLOCKED);
      return 'limited';
    });
    await app.ready();
    expect(await headersFrom((request, response) => app.routing(request, response))).toMatchObject(sent);
    await app.close();
  });

  test('reach the client of a node:http server', async () => {
    const headers = await headersFrom((_, response) => {
      sendRateLimitHeaders(response, { ...BLOCKED, blocked: false });
      response.end();
    });
    expect(headers).toMatchObject({ 'x-ratelimit-clear': '4.250', 'x-ratelimit-remaining': '0' });
    expect(headers).not.toHaveProperty('retry-after');
    expect(headers).not.toHaveProperty('x-ratelimit-reset');
  });
});
