/** Tests how `sluice serve` reads its options, and how it reports options that it cannot use. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Flags, readArgs } from '../../src/cli/args.ts';
import { main } from '../../src/cli/cli.ts';
import { observeOf } from '../../src/cli/observe-flags.ts';
import { SERVE_FLAGS } from '../../src/cli/serve-flags.ts';
import { listenersOf, serverOptions } from '../../src/cli/serve-options.ts';
import { createLog } from '../../src/log.ts';
import { run, serving, temporaryFile, temporaryFolder } from '../serving.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Runs a command that fails, and returns its exit code and output. */
async function sluice(...args: string[]): Promise<[code: number, printed: string]> {
  let printed = '';
  const write = (text: string): void => {
    printed += text;
  };
  return [await main(args, { out: write, err: write }), printed];
}

/** Opens the listeners that the flags name, and returns their tokens and the log. */
function opened(argv: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const lines: string[] = [];
  const log = createLog((line) => lines.push(line));
  return { listeners: listenersOf(readArgs(argv, SERVE_FLAGS, env), env, log), lines };
}

describe('sluice serve', () => {
  test.each([
    [['--deadline', '5parsecs'], '--deadline must be a duration such as 10s or 5m; got 5parsecs'],
    [['--deadline', '5parsecs', '--store', 'redis://127.0.0.1:1'], '--deadline must be a duration'],
    [['--deadline', '0'], '--deadline must be a duration'],
    [['--leased', '0', '--store', 'redis://127.0.0.1:1'], '--leased must be at least 1'],
    [['--drain-timeout', 'soon'], '--drain-timeout must be a duration such as 10s or 5m; got soon'],
    [['--keep-alive', '5'], '--keep-alive must be a duration'],
    [['--max-connections', '0'], '--max-connections must be at least 1; got 0'],
    [['--max-key', '0'], '--max-key must be at least 1; got 0'],
    [['--max-cost', '0'], '--max-cost must be at least 1; got 0'],
    [['--http', ''], '--http must not be empty'],
    [['--store', ''], '--store must not be empty'],
    [['--http-token-file', '/no/such/file'], '--http-token-file: ENOENT'],
    [['--admin-token-file', '/dev/null'], '--admin-token-file: /dev/null contains no token'],
  ])('rejects %j and names the flag', async (args, message) => {
    const [code, printed] = await sluice('serve', '--config', temporaryFile('limits: { a: 1/s }'), ...args);
    expect(code).toBe(2);
    expect(printed).toContain(`sluice: ${message}`);
  });

  test.each(['SLUICE_HTTP_TOKEN', 'SLUICE_GRPC_TOKEN', 'SLUICE_RESP_TOKEN', 'SLUICE_ADMIN_TOKEN'])(
    'does not start with an empty %s, which would open the listener to everyone',
    async (variable) => {
      vi.stubEnv(variable, '');
      const [code, printed] = await sluice('serve', '--config', temporaryFile('limits: { a: 1/s }'));
      expect([code, printed]).toEqual([2, expect.stringContaining(`${variable} must not be empty`)]);
    },
  );

  test.each(['http', 'admin', 'grpc', 'resp'].map((name) => `SLUICE_${name.toUpperCase()}_TOKEN_FILE`))(
    'does not start with an empty %s, which would open the listener to everyone',
    (variable) => {
      expect(() => readArgs([], SERVE_FLAGS, { [variable]: '' })).toThrow(`${variable} must not be empty`);
    },
  );

  test('does not start with an empty SLUICE_TLS_CLIENT_CA, which would accept clients without a certificate', () => {
    expect(() => readArgs([], SERVE_FLAGS, { SLUICE_TLS_CLIENT_CA: '' })).toThrow(
      'SLUICE_TLS_CLIENT_CA must not be empty',
    );
  });

  test('ignores every other empty environment variable, as if it were not set', () => {
    const flags = Object.keys(SERVE_FLAGS).filter((flag) => SERVE_FLAGS[flag]?.rejectsEmpty !== true);
    const env = Object.fromEntries(
      flags.map((flag) => [`SLUICE_${flag.toUpperCase().replaceAll('-', '_')}`, '']),
    );
    expect(flags.flatMap((flag) => readArgs([], SERVE_FLAGS, env).all(flag))).toEqual([]);
    expect(flags.length).toBeGreaterThan(40);
    const { log: _, ...plain } = serverOptions(readArgs(['--config', 'a'], SERVE_FLAGS), {}, false);
    const { log: __, ...given } = serverOptions(readArgs(['--config', 'a'], SERVE_FLAGS, env), {}, false);
    expect(given).toEqual(plain);
  });

  test('says that --config is missing if SLUICE_CONFIG is empty', async () => {
    vi.stubEnv('SLUICE_CONFIG', '');
    const [code, printed] = await sluice('serve');
    expect([code, printed]).toEqual([2, expect.stringContaining('--config is required')]);
  });

  test('ignores empty parts of a list in an environment variable', () => {
    const env = { SLUICE_CONFIG: 'a.yaml,,b.yaml,' };
    expect(readArgs([], SERVE_FLAGS, env).all('config')).toEqual(['a.yaml', 'b.yaml']);
  });

  test('suggests the most similar flag for an unknown flag', async () => {
    const hint = 'Run `sluice serve --help --all` for usage.\n';
    for (const [flag, message] of [
      ['--htp', `unknown flag '--htp'. Did you mean --http? ${hint}`],
      ['--max-conections=5', `unknown flag '--max-conections'. Did you mean --max-connections? ${hint}`],
      ['--bananas', `unknown flag '--bananas'. ${hint}`],
      ['-p', `unknown flag '-p'. ${hint}`],
    ] as const)
      expect(await sluice('serve', flag)).toEqual([2, `sluice: ${message}`]);
  });

  test('warns that an address without a host accepts connections only from this machine', () => {
    for (const given of [':8080', '8080'])
      expect(opened(['--http', given]).lines.join('')).toContain(
        `use 0.0.0.0:PORT","listener":"http","given":"${given}"`,
      );
    expect(opened(['--http', '127.0.0.1:8080', '--grpc', '[::]:8081']).lines).toEqual([]);
    const lines: string[] = [];
    const log = createLog((line) => lines.push(line));
    observeOf(readArgs(['--probe-http', ':8082'], SERVE_FLAGS), log);
    expect(lines.join('')).toContain('use 0.0.0.0:PORT","listener":"probe","given":":8082"');
    observeOf(readArgs(['--probe-http', '0.0.0.0:8082'], SERVE_FLAGS), log);
    expect(lines).toHaveLength(1);
  });

  test('warns that --shadow does not apply to hits of remote stores', () => {
    const lines: string[] = [];
    vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
    const start = (...argv: string[]) => {
      serverOptions(
        readArgs(['--config', 'limits.yaml', '--http', '127.0.0.1:0', ...argv], SERVE_FLAGS),
        {},
        false,
      );
      return lines.splice(0).join('');
    };
    expect(start('--shadow')).toBe('');
    expect(start('--shadow', '--remote')).toContain('--shadow does not apply to hits of remote stores');
  });

  test('exits on SIGTERM even if the store never answers', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => void silent.close());
    const connected = new Promise((resolve) => silent.once('connection', resolve));
    const { port } = silent.address() as AddressInfo;
    const file = temporaryFile('limits: { a: 1/s }');
    const store = `postgres://u:p@127.0.0.1:${port}/db`;
    const server = run('serve', '--config', file, '--store', store, '--drain-timeout', '50ms');
    await connected;
    server.process.kill('SIGTERM');
    expect(await server.gone).toBe(0);
  }, 60_000);
});

test('sluice check reports a folder that contains no configuration', async () => {
  const folder = join(temporaryFolder(), 'limits.d');
  mkdirSync(folder);
  const [code, printed] = await sluice('check', folder);
  expect([code, printed]).toEqual([1, `${folder}:1:1: the folder contains no .yaml or .yml file\n`]);
});

describe('a boolean flag that an environment variable sets', () => {
  const flags: Flags = { shadow: { help: '' } };
  const isOn = (value: string): boolean => readArgs([], flags, { SLUICE_SHADOW: value }).has('shadow');

  test.each(['true', 'TRUE', '1', 'yes', 'on', 'On'])('is on if the variable is %s', (value) => {
    expect(isOn(value)).toBe(true);
  });

  test.each(['', 'false', 'False', '0', 'no', 'off'])('is off if the variable is %j', (value) => {
    expect(isOn(value)).toBe(false);
  });

  test('is rejected if the variable is anything else', () => {
    expect(() => isOn('maybe')).toThrow('SLUICE_SHADOW must be true or false; got maybe');
  });
});

test('a token file that becomes empty or disappears is logged once, and the previous tokens stay in use', () => {
  const file = temporaryFile('first\n', 'tokens');
  const { listeners, lines } = opened(['--http-token-file', file]);
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const tokens = (): string[] | undefined => {
    now += 1001;
    return listeners.http?.tokens?.().map((one) => (typeof one === 'string' ? one : one.token));
  };
  writeFileSync(file, '# none\n');
  expect([tokens(), tokens()]).toEqual([['first'], ['first']]);
  expect(lines.splice(0)).toEqual([expect.stringContaining(`--http-token-file: ${file} contains no token`)]);
  rmSync(file);
  expect([tokens(), tokens()]).toEqual([['first'], ['first']]);
  expect(lines.splice(0)).toEqual([expect.stringContaining('keeping the previous tokens')]);
  writeFileSync(file, 'second\n');
  expect(tokens()).toEqual(['second']);
  expect(lines).toEqual([expect.stringContaining('the token file is valid again')]);
});

test('servers with different limits show different configuration hashes in the log and in /metrics', async () => {
  const hashOf = (text: string): string | undefined =>
    /sluice_config_info\{hash="(\w{12})"\} 1/.exec(text)?.[1];
  const same = await Promise.all([1, 2].map(() => serving('limits: { a: 5/h gcra }')));
  const other = await serving('limits: { a: 5/h fixed-window }');
  const [first, second, third] = [...same, other].map(({ core }) => hashOf(core.metrics.text()));
  expect(first).toBeDefined();
  expect(second).toBe(first);
  expect(third).toBeDefined();
  expect(third).not.toBe(first);
  expect(other.lines.join('')).toContain(`"hash":"${third}"`);
});
