/** Tests the claims of SECURITY.md that no other test covers. */
import { readdirSync, readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { createLimiter, memory, penalty, SluiceError } from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { redisServer } from 'sluice-test-support/redis/server.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
const own = `security ${process.pid}`;
afterAll(() => client.disconnect());

const HOSTILE = [
  `'"]]; redis.call('FLUSHALL') --`,
  `") redis.call("FLUSHALL") return ("`,
  '\r\n*1\r\n$8\r\nFLUSHALL\r\n',
  '\nFLUSHALL\n',
  `'; DROP TABLE sluice; --`,
  `$\{process.exit(1)}`,
  '%s%s%n',
  '../../etc/passwd',
  '{{constructor}}',
  '*',
  'a b\tc',
  '\x1b[2J',
];

describe('script injection', () => {
  test('no key, name or tier becomes part of a script', async () => {
    // Uses a separate server, to which no other test sends scripts.
    const server = await redisServer();
    const client = new Redis(server.port, '127.0.0.1');
    onTestFinished(async () => {
      client.disconnect();
      await server.stop();
    });
    await client.set(`${own} canary`, 'sings');
    const tiers = Object.fromEntries(HOSTILE.map((tier) => [tier, '2/h']));
    const cached = async () =>
      Number(/number_of_cached_scripts:(\d+)/.exec(await client.info('memory'))?.[1]);
    const first = createLimiter('2/h', {
      store: redis(client, { onFailure: 'throw', deadline: '10s' }),
      name: `${own} warm`,
      tiers,
    });
    // Calls take, block and reset.
    await first.take('k', { tier: HOSTILE[0] });
    await first.block('k', '1s');
    await first.reset('k');
    const before = await cached();
    for (const text of HOSTILE) {
      const limiter = createLimiter('2/h', {
        store: redis(client, { onFailure: 'throw', deadline: '10s' }),
        name: `${own} ${text}`,
        tiers,
      });
      const decisions = [];
      for (let i = 0; i < 3; i++) decisions.push(await limiter.take(text, { tier: text }));
      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false]);
      await limiter.block(text, '1s');
      await limiter.reset(text);
      expect((await limiter.take(text)).remaining).toBe(1);
    }
    expect(await client.get(`${own} canary`)).toBe('sings');
    expect(await cached()).toBe(before);
  });
});

describe('key floods', () => {
  test('keys of a megabyte use no more memory than short keys', async () => {
    const long = 'x'.repeat(1_000_000);
    const limiter = createLimiter('2/h', {
      store: redis(client, { onFailure: 'throw', deadline: '10s' }),
      name: own,
    });
    await limiter.take(long);
    const keys = (await client.keys(`${own}:*`)).filter((key) => key.startsWith(`${own}:{`));
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThan(400);

    const before = process.memoryUsage().arrayBuffers;
    const near = createLimiter('2/h', { store: memory() });
    for (let i = 0; i < 100; i++) near.take(long + i);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1e6);
  });

  test('the number of waiting callers is bounded', async () => {
    const limiter = createLimiter('1/h', { store: memory({ clock: manualClock() }), maxWaiting: 10 });
    limiter.take('k');
    const waiting = Array.from({ length: 10 }, () =>
      limiter.acquire('k').catch((error: Error) => error.name),
    );
    expect((await limiter.acquire('k')).allowed).toBe(false);
    await limiter.close();
    expect(await Promise.all(waiting)).toEqual(Array(10).fill('ClosedError'));
  });
});

describe('guessing', () => {
  test('a lockout applies to the address that guesses passwords, not to the account that is attacked', () => {
    const policies = { tries: '3/h', lockout: penalty({ after: 3, within: '1h', block: '1d' }) };
    const limiter = createLimiter(policies, { store: memory({ clock: manualClock() }) });
    for (let i = 0; i < 50; i++) limiter.take('alice from 6.6.6.6');
    expect(limiter.take('alice from 6.6.6.6')).toMatchObject({ allowed: false, policy: 'lockout' });
    expect(limiter.take('alice from 192.0.2.1').allowed).toBe(true);
  });
});

test('an error message about an option shows at most a hundred characters of the value', () => {
  const secret = 'x'.repeat(100_000);
  const error = new SluiceError('ERR_POLICY', 'policy', secret);
  expect(error.message.length).toBeLessThan(400);
  expect(() => createLimiter(secret)).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/^.{0,1000}$/s) }),
  );
});

describe('dependencies', () => {
  const root = new URL('../../', import.meta.url);

  test('the package has no runtime dependency', () => {
    const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as Record<
      string,
      object
    >;
    expect(Object.keys(manifest['dependencies'] ?? {})).toEqual([]);
    expect(Object.keys(manifest['optionalDependencies'] ?? {})).toEqual([]);
    // An optional peer dependency is never installed automatically.
    const optional = Object.keys(manifest['peerDependenciesMeta'] ?? {});
    expect(
      Object.keys(manifest['peerDependencies'] ?? {}).filter((peer) => !optional.includes(peer)),
    ).toEqual([]);
  });

  test('the built code does not evaluate text as code', () => {
    const built = readdirSync(new URL('dist/', root), { recursive: true, encoding: 'utf8' });
    for (const file of built.filter((name) => name.endsWith('.js'))) {
      const code = readFileSync(new URL(`dist/${file}`, root), 'utf8');
      expect([file, /\beval\(|new Function\(|node:vm|child_process/.test(code)]).toEqual([file, false]);
    }
  });
});

describe('SECURITY.md', () => {
  const root = new URL('../../../../', import.meta.url);
  const page = readFileSync(new URL('SECURITY.md', root), 'utf8');
  const FOLDERS = ['packages/sluice/test/', 'packages/sluice-server/test/', 'packages/playground/test/'];
  /** A row of a table: the threat, the protection, the tests. */
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| **'))
    .map((line) => line.split(' | '));

  test.each(rows)('names tests that exist: %s', (...[, , shown]) => {
    const named = [...(shown ?? '').matchAll(/`([^`]+)`((?: "[^"]+",?)*)/g)];
    expect(named.length).toBeGreaterThan(0);
    for (const [, file = '', quoted = ''] of named) {
      const texts = textsOf(file);
      expect(texts, file).not.toEqual([]);
      for (const [, title = ''] of quoted.matchAll(/"([^"]+)"/g))
        expect(
          texts.some((text) => text.includes(title)),
          `${file}: ${title}`,
        ).toBe(true);
    }
  });

  const files = FOLDERS.flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .map((file) => `${folder}${file.replaceAll('\\', '/')}`)
      .filter((file) => file.endsWith('.test.ts')),
  );

  /**
   * The sources of all tests with this file name, or in this folder if the name ends with a slash. `.test.ts` may be
   * omitted.
   */
  function textsOf(name: string): string[] {
    const ending = name.endsWith('.ts') ? name : `${name}.test.ts`;
    return files
      .filter((file) => (name.endsWith('/') ? file.includes(`/${name}`) : file.endsWith(`/${ending}`)))
      .map((file) => readFileSync(new URL(file, root), 'utf8'));
  }
});
