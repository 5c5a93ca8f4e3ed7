/** Tests graceful shutdown with real processes and signals, and with requests that arrive at the last moment. Needs the build. */
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { punctually, unpunctuality } from 'sluice-test-support/redis/watch.ts';
import { openResp } from '../src/listeners/resp/resp.ts';
import { openHttp } from '../src/listeners/http/http.ts';
import { memory } from 'sluice';
import { command, later, opened, socketTo } from './listeners/listeners.ts';
import { started, take, temporaryFile } from './serving.ts';

vi.setConfig({ testTimeout: 60_000 });

describe('SIGTERM', () => {
  // While draining, the server closes idle connections once a second, so the test would fail if a client stalled.
  const under = <T>(run: () => Promise<T>) => punctually(500, run);

  test('under load does not lose a response, and the process exits with code 0', () =>
    under(async () => {
      const server = await started('--config', temporaryFile('limits: { a: 1000000/h }'));
      const agent = new Agent({ keepAlive: true, maxSockets: 32 });
      let answered = 0;
      let isOver = false;
      const failures: string[] = [];

      const ask = () =>
        new Promise<void>((resolve) => {
          const operation = request(`${server.url}/v1/take`, { method: 'POST', agent }, (response) => {
            response.resume();
            response.on('end', () => {
              answered++;
              resolve();
            });
            response.on('error', (error) => {
              failures.push(String(error));
              resolve();
            });
          });
          operation.on('error', (error: NodeJS.ErrnoException) => {
            // The server no longer listens, so nothing was sent.
            if (error.code === 'ECONNREFUSED') isOver = true;
            else failures.push(`${error.code} ${error.message}`);
            resolve();
          });
          operation.end('{"limit":"a","key":"x"}');
        });
      let connected = 0;
      const client = async () => {
        await ask();
        connected++;
        while (!isOver) await ask();
      };
      const clients = Array.from({ length: 32 }, client);
      // Wait until the server has accepted all connections, because closing the listening socket also closes connections that wait there.
      await expect.poll(() => connected === 32 && answered > 100, { timeout: 20_000 }).toBe(true);
      server.process.kill('SIGTERM');
      await Promise.all(clients);
      expect(await server.gone).toBe(0);
      expect(server.output()).toContain('"message":"drained"');
      expect(failures).toEqual([]);
      agent.destroy();
    }));

  test('does not prevent answers to requests that have already arrived, even if the process was stalled', () =>
    under(async () => {
      const server = await started('--config', temporaryFile('limits: { a: 99/h }'));
      const agent = new Agent({ keepAlive: true });
      const ask = () =>
        new Promise<number | string>((resolve) => {
          const operation = request(`${server.url}/healthcheck`, { agent }, (response) => {
            response.resume().on('end', () => resolve(response.statusCode ?? 0));
          });
          operation.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
          operation.end();
        });
      const ten = Array.from({ length: 10 });
      expect(await Promise.all(ten.map(ask))).toEqual(ten.map(() => 200));
      server.process.kill('SIGTERM');
      await server.says('"message":"draining"');
      server.process.kill('SIGSTOP');
      const answers = ten.map(ask);
      await new Promise((resolve) => setTimeout(resolve, 800));
      server.process.kill('SIGCONT');
      expect(await Promise.all(answers)).toEqual(ten.map(() => 500));
      agent.destroy();
    }));

  test('stops the server without waiting for connections that have no requests', async () => {
    const server = await started('--config', temporaryFile('limits: { a: 1/h }'));
    const silent = connect(server.port, '127.0.0.1');
    await once(silent, 'connect');
    const idle = new Agent({ keepAlive: true });
    await new Promise((resolve) => {
      request(`${server.url}/healthcheck`, { agent: idle }, (response) =>
        response.resume().on('end', resolve),
      ).end();
    });
    const start = performance.now();
    const late = unpunctuality();
    server.process.kill('SIGTERM');
    expect(await server.gone).toBe(0);
    expect(performance.now() - start - late.total()).toBeLessThan(8000);
    late.stop();
    silent.destroy();
    idle.destroy();
  });

  test('with --drain-delay keeps the server answering while the health check fails', async () => {
    const server = await started('--config', temporaryFile('limits: { a: 1/h }'), '--drain-delay', '2500');
    server.process.kill('SIGTERM');
    await server.says('"message":"draining"');
    expect((await fetch(`${server.url}/healthcheck`)).status).toBe(500);
    expect(await take(server.url, 'a', 'x')).toMatchObject({ allowed: true });
    expect(await server.gone).toBe(0);
  });
});

test('responses during a drain tell the client to close the connection', async () => {
  const { port, listener } = await opened(openHttp, 'limits: { api: 3/h }');
  const socket = socketTo(port);
  const ask = async (): Promise<string> => {
    socket.write('GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n');
    return String((await once(socket, 'data'))[0]);
  };
  expect(await ask()).toContain('Connection: keep-alive');
  const drained = listener.drain(5000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await ask()).toContain('Connection: close');
  await drained;
});

describe('requests that arrive at the last moment', () => {
  /** Resolves when the event loop has polled its sockets and will run timers next. */
  const looked = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  /** Blocks this process for the given number of milliseconds. */
  function holdUp(span: number): void {
    const end = performance.now() + span;
    while (performance.now() < end);
  }

  /** Everything received until the server closes the connection. */
  async function heardBy(socket: Socket): Promise<string> {
    let heard = '';
    socket.on('data', (chunk) => (heard += String(chunk)));
    await Promise.race([once(socket, 'end'), once(socket, 'close')]);
    socket.end();
    return heard;
  }

  test('HTTP: a client that has connected is served, even if the server has not accepted its connection yet', async () => {
    const { port, listener } = await opened(openHttp, 'limits: { api: 3/h }');
    // When `stat` resolves, the event loop has just polled its sockets, and it does not poll them again in this turn.
    await stat('.');
    const socket = socketTo(port);
    // Node connects in the next tick, and the kernel completes the handshake without the server.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const drained = listener.drain(5000);
    socket.write('GET /healthcheck HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect(await heardBy(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    await drained;
  });

  test.each([
    [
      'HTTP',
      openHttp,
      'GET /healthcheck HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
      /^HTTP\/1\.1 200 OK\r\n/,
    ],
    ['RESP', openResp, command('ping'), /^\+PONG\r\n$/],
  ] as const)(
    '%s: all clients that have connected are served, even if the server accepts only one connection at a time',
    async (_, open, words, answer) => {
      const { port, listener } = await opened(open, 'limits: { api: 3/h }');
      await stat('.');
      const sockets = Array.from({ length: 20 }, () => socketTo(port));
      await new Promise<void>((resolve) => process.nextTick(resolve));
      const drained = listener.drain(5000);
      for (const socket of sockets) socket.write(words);
      const heard = await Promise.all(sockets.map(heardBy));
      expect(heard.filter((text) => !answer.test(text))).toEqual([]);
      await drained;
    },
  );

  test('HTTP: a request that is sent before idle connections are closed is answered, even though the event loop runs timers before it reads sockets', () =>
    punctually(300, async () => {
      const { port, listener } = await opened(openHttp, 'limits: { api: 3/h }');
      const socket = socketTo(port);
      const ask = 'GET /healthcheck HTTP/1.1\r\nHost: a\r\n\r\n';
      socket.write(ask);
      await once(socket, 'data');
      const drained = listener.drain(5000);
      // The server closes idle connections after a second.
      await new Promise((resolve) => setTimeout(resolve, 600));
      await looked();
      socket.write(ask);
      holdUp(500);
      expect(await heardBy(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      await drained;
    }));

  // If this machine stalls for half a second, the client sends its command too late.
  const within = <T>(run: () => Promise<T>) => punctually(200, run);

  test('RESP: a command that is sent before the shutdown is answered, even though the event loop runs timers before it reads sockets', () =>
    within(async () => {
      const { port, listener } = await opened(openResp, 'limits: { api: 3/h }');
      const socket = socketTo(port);
      socket.write(command('ping'));
      await once(socket, 'data');
      await looked();
      socket.write(command('echo', 'last'));
      const drained = listener.drain(5000);
      holdUp(20);
      expect(await heardBy(socket)).toBe('$4\r\nlast\r\n');
      await drained;
    }));

  test('RESP: a command that arrives before its idle connection is closed is answered, even if the timer that closes the connection runs before the socket is read', () =>
    punctually(300, async () => {
      const { port, listener } = await opened(openResp, 'limits: { api: 3/h }');
      const socket = socketTo(port);
      socket.write(command('ping'));
      await once(socket, 'data');
      const drained = listener.drain(5000);
      // The server closes idle connections after half a second.
      await new Promise((resolve) => setTimeout(resolve, 100));
      await looked();
      socket.write(command('echo', 'last'));
      holdUp(500);
      expect(await heardBy(socket)).toBe('$4\r\nlast\r\n');
      await drained;
    }));

  test('RESP: an idle client can send one more command after the shutdown has begun', () =>
    within(async () => {
      const { port, listener } = await opened(openResp, 'limits: { api: 3/h }');
      const socket = socketTo(port);
      await once(socket, 'connect');
      const heard = heardBy(socket);
      const drained = listener.drain(5000);
      await new Promise((resolve) => setTimeout(resolve, 100));
      socket.write(command('echo', 'last'));
      expect(await heard).toBe('$4\r\nlast\r\n');
      await drained;
    }));

  test('RESP: a client that stops sending soon after the shutdown has begun gets a reply to every command', () =>
    within(async () => {
      const { port, listener } = await opened(openResp, 'limits: { api: 3/h }');
      const socket = socketTo(port);
      socket.write(command('echo', '0'));
      const heard = heardBy(socket);
      const drained = listener.drain(5000);
      for (let i = 1; i < 6; i++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        socket.write(command('echo', String(i)));
      }
      expect(await heard).toBe([0, 1, 2, 3, 4, 5].map((i) => `$1\r\n${i}\r\n`).join(''));
      await drained;
    }));

  test('RESP: commands that arrive while earlier ones wait for the store are answered', () =>
    within(async () => {
      const store = later(memory(), () => 100);
      const { port, listener } = await opened(openResp, 'limits: { api: 9/h }', { store });
      const socket = socketTo(port);
      const heard = heardBy(socket);
      const drained = listener.drain(5000);
      for (const times of [1, 3]) {
        await new Promise((resolve) => setTimeout(resolve, 40));
        socket.write(command('throttle', 'x', 'api').repeat(times));
      }
      expect((await heard).match(/\*5\r\n:0/g)).toHaveLength(4);
      await drained;
    }));

  test('RESP: commands are answered even if the server has not read them yet because too many earlier commands wait for the store', () =>
    within(async () => {
      const store = later(memory(), () => 1200);
      const { port, listener } = await opened(openResp, 'limits: { api: 9999/h }', { store });
      const socket = socketTo(port);
      const heard = heardBy(socket);
      // The server runs at most 1,000 commands of a connection at the same time. Until one of them is done, the
      // server does not read the next command.
      socket.write(command('throttle', 'x', 'api').repeat(1000));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const drained = listener.drain(9000);
      socket.write(command('throttle', 'x', 'api').repeat(300));
      expect((await heard).match(/\*5\r\n:0/g)).toHaveLength(1300);
      await drained;
    }));

  test('RESP: a client that never stops sending is disconnected, and every command that was run is answered', async () => {
    const { port, listener, core } = await opened(openResp, 'limits: { api: 1000000/1000d fixed-window }', {
      store: later(memory(), () => 5),
    });
    const socket = socketTo(port);
    const sending = setInterval(() => {
      if (socket.writable) socket.write(command('throttle', 'x', 'api').repeat(5));
    }, 1);
    const heard = heardBy(socket);
    await listener.drain(9000);
    clearInterval(sending);
    const answered = (await heard).match(/\*5\r\n:0/g)?.length;
    const { remaining } = await core.peek('api', 'x');
    expect(answered).toBe(1_000_000 - remaining);
  });

  test.each([
    ['answers immediately', memory],
    ['is slow', () => later(memory(), () => 200 + Math.random() * 50)],
  ])(
    'HTTP: all pipelined requests are answered if the store %s, and only the last response has the header Connection: close',
    (_, store) =>
      within(async () => {
        const { port, listener } = await opened(openHttp, 'limits: { api: 99/h }', { store: store() });
        const socket = socketTo(port);
        const body = '{"limit":"api","key":"x"}';
        const ask = `POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
        socket.write(ask.repeat(10));
        const heard = heardBy(socket);
        const drained = listener.drain(5000);
        await new Promise((resolve) => setTimeout(resolve, 50));
        socket.write(ask.repeat(10));
        const answers = (await heard).split('HTTP/1.1 200 OK').slice(1);
        expect(answers).toHaveLength(20);
        const closing = answers.map((answer) => /^Connection: close\r$/m.test(answer));
        expect(closing).toEqual(answers.map((_answer, i) => i === 19));
        await drained;
      }),
  );
});
