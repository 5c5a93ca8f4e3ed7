import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Limiter,
  memory,
  type Decision,
  type StoreUnavailable,
} from '../../../src/index.ts';
import type { Algorithm } from '../../../src/store.ts';
import { ipc } from '../../../src/stores/ipc/index.ts';
import { type Answer, checker, socketPath } from './processes.ts';

const LIMIT = 200;
const task = (key: string) => ({ limit: LIMIT, key, lanes: 32, checks: 100 });
const total = (answers: readonly Answer[]) => answers.reduce((sum, { admitted }) => sum + admitted, 0);

describe('ipc admits exactly the limit to processes', () => {
  test('that were started separately (4 processes, 100 times)', { timeout: 60_000 }, async () => {
    const options = { path: socketPath(), deadline: '20s' };
    const checkers = await Promise.all([1, 2, 3, 4].map(() => checker(options)));
    for (let round = 0; round < 100; round++) {
      expect(total(await Promise.all(checkers.map((one) => one.ask(task(`round ${round}`)))))).toBe(LIMIT);
    }
  });

  test.each([
    ['one of the workers', '0'],
    ['the primary', '1'],
  ])(
    'that are workers of node:cluster, if %s serves (4 processes, 50 times)',
    {
      timeout: 60_000,
    },
    async (_, SERVE) => {
      const cluster = await checker({ path: socketPath(), deadline: '20s' }, 'cluster.mjs', { SERVE });
      for (let round = 0; round < 50; round++)
        expect(total(await cluster.ask<Answer[]>(task(`round ${round}`)))).toBe(LIMIT);
    },
  );

  test('that start simultaneously and find the socket of a dead process (6 processes, 3 times)', {
    timeout: 60_000,
  }, async () => {
    const options = { path: socketPath(), deadline: '20s' };
    for (let round = 0; round < 3; round++) {
      const checkers = await Promise.all(Array.from({ length: 6 }, () => checker(options)));
      // The state outlives the processes, so each round uses its own key.
      expect(total(await Promise.all(checkers.map((one) => one.ask(task(`round ${round}`)))))).toBe(LIMIT);
      for (const { child } of checkers) child.kill('SIGKILL');
      await Promise.all(checkers.map(({ child }) => once(child, 'exit')));
      expect(existsSync(options.path)).toBe(true);
    }
  });
});

describe('when the serving process', () => {
  test('is killed, onFailure answers in time until another process takes over', {
    timeout: 60_000,
  }, async () => {
    const options = { path: socketPath(), deadline: 3000, onFailure: 'deny' };
    const first = await checker(options);
    await first.ask(task('warm'));
    const others = await Promise.all([1, 2, 3].map(() => checker(options)));
    const long = { limit: LIMIT, key: 'key', lanes: 8, checks: 20_000 };
    const answers = Promise.all(others.map((one) => one.ask(long)));
    await sleep(300);
    first.child.kill('SIGKILL');
    const after = await answers;
    const lateness = Math.max(...after.map((answer) => answer.lateness));
    for (const { slowest } of after) expect(slowest).toBeLessThan(1500 + 2 * lateness);
    // The new serving process continues with the counts of the old one.
    expect(total(after)).toBeLessThanOrEqual(LIMIT);
    // The breaker of each process must notice that the store is back.
    for (const one of others) {
      const source = async () => (await one.ask({ ...task('probe'), checks: 1 })).sources;
      await expect.poll(source, { timeout: 10_000 }).toEqual({ store: 1 });
    }
    const again = await Promise.all(others.map((one) => one.ask(task('new key'))));
    expect(again.map(({ sources }) => sources)).toEqual(again.map(() => ({ store: 100 })));
    expect(total(again)).toBe(LIMIT);
  });

  test('is stopped, onFailure answers within the deadline until the process continues', {
    timeout: 60_000,
  }, async () => {
    const options = { path: socketPath(), deadline: 100 };
    const first = await checker(options);
    await first.ask(task('warm'));
    const other = await checker({ ...options, onFailure: 'allow' });
    await other.ask(task('warm'));
    first.child.kill('SIGSTOP');
    const stopped = await other.ask({ limit: 5, key: 'key', lanes: 4, checks: 100 });
    expect(stopped.sources).toEqual({ fallback: 100 });
    expect(stopped.slowest).toBeLessThan(1000 + 2 * stopped.lateness);
    first.child.kill('SIGCONT');
    await expect
      .poll(async () => (await other.ask({ ...task('key'), checks: 1 })).sources, { timeout: 10_000 })
      .toEqual({ store: 1 });
  });

  test('loses its socket file, all processes connect to a single new serving process', {
    timeout: 60_000,
  }, async () => {
    const options = { path: socketPath(), deadline: '5s' };
    const old = await Promise.all([1, 2].map(() => checker(options)));
    await Promise.all(old.map((one) => one.ask(task('warm'))));
    rmSync(options.path);
    const all = [...old, await checker(options)];
    await sleep(3000);
    let tries = 0;
    const admitted = async (): Promise<number> => {
      const key = `key ${++tries}`;
      return total(await Promise.all(all.map((one) => one.ask(task(key)))));
    };
    // On a busy machine, the processes may need longer to agree on one serving process.
    await expect.poll(admitted, { timeout: 10_000, interval: 500 }).toBe(LIMIT);
    expect(await admitted()).toBe(LIMIT);
  });

  test('is missing and no other process may serve, a check fails immediately', async () => {
    const limiter = createLimiter('5/s', {
      store: ipc({ onFailure: 'throw', path: socketPath(), serve: false, deadline: '30s' }),
      name: 'api',
    });
    const error = await limiter.take('k').then(
      () => undefined,
      (thrown: StoreUnavailable) => thrown,
    );
    expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', fault: 'connection' });
  });
});

/** A serving store and a client of it. */
async function pair(algorithms: readonly Algorithm[] = []) {
  const path = socketPath();
  const server = ipc({ onFailure: 'throw', path, algorithms, store: memory(), deadline: '5s' });
  await createLimiter('1/s', { store: server, name: 'first' }).take('k');
  const client = ipc({ onFailure: 'throw', path, algorithms, serve: false, deadline: '5s' });
  return { path, server, client, close: () => Promise.all([client.close(), server.close()]) };
}

test('the serving process closes only the connection that sent invalid data', async () => {
  const { path, client, close } = await pair();
  const limiter = createLimiter('5/h', { store: client, name: 'api' });
  expect((await limiter.take('k')).remaining).toBe(4);
  for (const garbage of ['hello\n', '[[],[[0,"take","k",1,"whole",0]]]\n', '[null]\n', '\n']) {
    const socket = connect(path);
    socket.on('error', () => {});
    socket.resume();
    socket.write(garbage);
    await new Promise((resolve) => socket.once('close', resolve).once('data', resolve));
    socket.destroy();
  }
  expect((await limiter.take('k')).remaining).toBe(3);
  await close();
});

test('hits in flight fail when the connection is closed, not only at the deadline', async () => {
  const path = socketPath();
  const never = { ...memory(), apply: () => new Promise<Decision>(() => {}) };
  const server = ipc({ onFailure: 'throw', path, store: never, deadline: 50 });
  // This check fails, because `never` does not answer, but it makes the store serve the socket.
  await expect(createLimiter('5/h', { store: server, name: 'api' }).take('k')).rejects.toThrow('deadline');
  const client = ipc({ onFailure: 'throw', path, serve: false, deadline: '60s' });
  const hit = createLimiter('5/h', { store: client, name: 'api' }).take('k');
  hit.catch(() => {});
  await sleep(100);
  await server.close();
  await expect(hit).rejects.toMatchObject({ fault: 'connection' });
  await client.close();
});

test('a probe of the circuit breaker does not end a manual block', async () => {
  const { client, close } = await pair();
  const limiter = createLimiter('5/h', { store: client, name: 'api' });
  await limiter.block('k', '1h');
  const probe: typeof client = {
    ...client,
    apply: (hit) => client.apply({ ...hit, plan: { ...hit.plan, name: 'api:~probe' } }),
  };
  await createLimiter('5/h', { store: probe, name: 'api' }).block('k', 1);
  await sleep(5);
  expect((await limiter.take('k')).policy).toBe('block');
  await close();
});

test('a custom algorithm is sent by its name, and an algorithm that is not registered is rejected', async () => {
  const lifetime: Algorithm<{ limit: number }> = {
    name: 'lifetime',
    width: () => 1,
    available: (p, row, at) => p.limit - row[at],
    waitFor: (p, row, at, _now, cost) => (row[at] + cost <= p.limit ? 0 : Infinity),
    take(_, row, at, _now, cost) {
      row[at] += cost;
    },
    give() {},
    clearIn: (_, row, at) => (row[at] === 0 ? 0 : Infinity),
  };
  const policy = {
    algorithm: lifetime as unknown as Algorithm,
    params: { limit: 3 },
    limit: 3,
    window: Infinity,
  };
  const told = await pair([policy.algorithm]);
  const limiter: Limiter<Promise<Decision>> = createLimiter(policy, { store: told.client, name: 'api' });
  await limiter.take('k', 2);
  expect(await limiter.take('k', 2)).toMatchObject({
    allowed: false,
    remaining: 1,
    retryAfter: Infinity,
    policies: [{ window: Infinity }],
  });
  await told.close();

  const untold = await pair();
  await expect(createLimiter(policy, { store: untold.client, name: 'api' }).take('k')).rejects.toThrow(
    'ipc.algorithms',
  );
  await untold.close();
});

test('ipc rejects invalid options when the store is created', () => {
  expect(() => ipc({} as { path: string })).toThrow('ipc.path');
  expect(() => ipc({ onFailure: 'throw', path: `/tmp/${'x'.repeat(200)}` })).toThrow('at most 103 bytes');
  expect(() =>
    ipc({ onFailure: 'throw', path: '/tmp/x', algorithms: [{ name: 'gcra' } as Algorithm] }),
  ).toThrow('algorithms');
});

test('ipc keeps neither the serving process nor a client process alive', () => {
  const script = `
    const { createLimiter } = await import('./dist/index.js');
    const { ipc } = await import('./dist/stores/ipc/index.js');
    const path = process.argv[1];
    const store = () => ipc({ onFailure: 'throw', path, deadline: '60s' });
    await createLimiter('5/h', { store: store(), name: 'x' }).take('k');
    console.log((await createLimiter('5/h', { store: store(), name: 'x' }).take('k')).remaining);`;
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script, socketPath()], {
    cwd: new URL('../../..', import.meta.url),
    timeout: 25_000,
  });
  expect(out.toString()).toBe('3\n');
});
