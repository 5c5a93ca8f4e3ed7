/** Runs what the README shows: commands, configuration files and responses. Needs the build. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { textOf } from 'sluice-test-support/docs/blocks.ts';
import { commandsIn, reading } from 'sluice-test-support/docs/reading.ts';
import { link, unpack } from 'sluice-test-support/packed.ts';
import { parseTokens } from '../src/config/tokens.ts';
import { TOKEN_VERBS } from '../src/listeners/grants.ts';
import { envoysMessage } from './listeners/grpc/client.ts';
import { run, type Serving, serving, started, temporaryFile } from './serving.ts';

const block = reading('packages/sluice-server/README.md');
const installing = commandsIn(block('sh', 'npm install'));
const beginning = commandsIn(block('sh', 'curl'));
const limits = block('yaml', 'limits:');
const descriptors = block('yaml', 'descriptors:\n');
const mistakes = block('', 'sluice check');
const answer = block('json', '"allowed": true');
const filter = block('yaml', 'envoy.filters.http.ratelimit');
const redisCli = block('', 'redis-cli');
const tokenFile = block('', 'name=checkout');
const trying = commandsIn(block('sh', 'sluice simulate'));

const shell = promisify(execFile);
const typed = async (line: string): Promise<string> => (await shell('sh', ['-c', line])).stdout;

/** Arguments of a `sluice …` line, with the files and servers that it names replaced by those of the test. */
function argumentsOf(line: string, places: Readonly<Record<string, string>>): string[] {
  const [program, ...words] = (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll(`'`, ''));
  expect(program).toBe('sluice');
  for (const place of Object.keys(places)) expect(words).toContain(place);
  return words.map((word) => places[word] ?? word);
}

/** Output of a command that must exit with code 0. */
async function printedBy(args: readonly string[]): Promise<string> {
  const { output, gone } = run(...args);
  expect(await gone, output()).toBe(0);
  return output();
}

test('installing the packed package provides the sluice command', async () => {
  const [install = '', once = '', ...more] = installing;
  expect([install, ...more]).toEqual(['npm install --global sluice-server']);
  const folder = mkdtempSync(join(tmpdir(), 'sluice-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['sluice', 'sluice-compat', 'sluice-server'] as const) unpack(name, folder);
  for (const name of ['@grpc/grpc-js', '@grpc/proto-loader', 'yaml']) link(name, folder);
  // Links the commands of the packages in node_modules, as an installation does.
  await shell('npm', ['rebuild', '--offline', '--ignore-scripts'], { cwd: folder });
  const { stdout } = await shell('sh', ['-c', once], {
    cwd: folder,
    env: { ...process.env, npm_config_offline: 'true' },
  });
  expect(stdout).toContain('sluice serve');
  expect(existsSync(join(folder, 'node_modules/.bin/sluice'))).toBe(true);
}, 120_000);

test('the first two commands in the README work, and give the response that the README shows', async () => {
  const [serve = '', curl = '', ...more] = beginning;
  expect(more).toEqual([]);
  const [verb, ...args] = argumentsOf(serve, { 'limits.yaml': temporaryFile(limits) });
  expect(verb).toBe('serve');
  const { url } = await started(...args);
  expect(curl).toContain('http://localhost:8080/');
  const said = await typed(`${curl.replace('http://localhost:8080', url)} --silent`);
  // The time of the charge differs in every run.
  expect(JSON.parse(said)).toEqual({ ...JSON.parse(answer), at: expect.any(Number) });
});

test.each([
  ['limits', limits],
  ['descriptors', descriptors],
])('sluice check accepts the %s in the README', async (_, text) => {
  await printedBy(['check', temporaryFile(text)]);
});

test('the token file in the README is valid, and names the verbs that the README lists', () => {
  expect(parseTokens(tokenFile, 'tokens').map(({ name }) => name)).toEqual([
    undefined,
    'checkout',
    'support',
    'prometheus',
  ]);
  const text = textOf('packages/sluice-server/README.md');
  const listed = /- \*\*`verbs`\*\*:([\s\S]*?) A token without/.exec(text)?.[1] ?? '';
  for (const verb of TOKEN_VERBS) expect(listed).toContain(`\`${verb}\``);
});

test('invalid files are reported as shown in the README', async () => {
  const [line = '', ...shown] = mistakes.split('\n');
  const file = temporaryFile(`limits:
  search:
    policies: 5/s
    polices: 5/s
  export:
    policies: { algorithm: gcra, limit: -1, per: 1s }
`);
  const { output, gone } = run(...argumentsOf(line.replace('$ ', ''), { 'limits.yaml': file }));
  expect(await gone).toBe(1);
  expect(output().trim().split('\n')).toEqual(shown.map((text) => text.replace('limits.yaml', file)));
});

interface Answer {
  readonly policy: string;
  readonly policies: readonly { readonly name: string; readonly retryAfter: number | null }[];
}

async function take(server: Serving, limit: string, key: string, more: object = {}): Promise<Answer> {
  const response = await server.post('/v1/take', { limit, key, ...more });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

describe('the limits in the README', () => {
  const shadow = /^ +shadow: true .*\n/m;

  test('behave as their comments say', async () => {
    expect(limits).toMatch(shadow);
    const server = await serving(limits.replace(shadow, ''));
    const search = (key: string, more?: object) => take(server, 'search', key, more);
    // The mode is 'whole', unless a take specifies another mode.
    expect(await search('bob', { cost: 11 })).toMatchObject({ allowed: false, limit: 10 });
    expect(await search('bob', { cost: 11, mode: 'partial' })).toMatchObject({ allowed: true, taken: 10 });
    expect(await search('pete', { cost: 101, tier: 'pro' })).toMatchObject({ allowed: false, limit: 100 });
    // Overrides apply whatever tier the take names.
    for (let i = 0; i < 3; i++)
      expect(await search('health-probe', { cost: 1e6 })).toMatchObject({ allowed: true });
    expect(await search('known-scraper')).toMatchObject({ allowed: false, retryAfter: null });
    expect(await search('partner-7', { cost: 100 })).toMatchObject({ allowed: true, limit: 100 });
    expect(await search('partner-7', { cost: 101 })).toMatchObject({ allowed: false });
    expect(await search('alice', { cost: 10 })).toMatchObject({ allowed: true, limit: 10 });
    expect(await search('alice', { cost: 11, tier: 'pro' })).toMatchObject({ allowed: false, limit: 10 });
    // One take can use the whole quota of the month.
    expect(await take(server, 'export', 'x', { cost: 100 })).toMatchObject({ allowed: true, limit: 100 });
    expect(await take(server, 'export', 'x', { cost: 101 })).toMatchObject({ allowed: false });
  });

  test('for logins lock out a client that continues after five attempts', async () => {
    const server = await serving(limits);
    const answers: Answer[] = [];
    for (let i = 0; i < 9; i++) answers.push(await take(server, 'login', 'eve'));
    expect(answers).toMatchObject(Array.from({ length: 9 }, (_, i) => ({ allowed: i < 5 })));
    expect(answers[5]?.policy).toBe('attempts');
    const lockout = (answer?: Answer) =>
      answer?.policies.find(({ name }) => name === 'lockout')?.retryAfter ?? 0;
    expect(answers.map((answer) => lockout(answer) > 0).indexOf(true)).toBeGreaterThan(5);
    expect(lockout(answers.at(-1))).toBeGreaterThan(200_000);
    expect(lockout(answers.at(-1))).toBeLessThanOrEqual(300_000);
  });

  test('in shadow mode count requests but do not deny any', async () => {
    const server = await serving(limits);
    for (const key of ['bob', 'known-scraper'])
      expect(await take(server, 'search', key, { cost: 1000 })).toMatchObject({ allowed: true });
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain('sluice_decisions_total{limit="search",outcome="shadowed"} 2');
  });
});

describe("Envoy's format in the README:", () => {
  const asking = (server: Serving, hitsAddend: number, ...entries: [key: string, value: string][]) =>
    server
      .post('/json', {
        domain: 'edge',
        hitsAddend,
        descriptors: [{ entries: entries.map(([key, value]) => ({ key, value })) }],
      })
      .then(async (response) => ((await response.json()) as { overallCode: string }).overallCode);

  test('the limits apply to addresses, and to paths that start with /login', async () => {
    const server = await serving(descriptors);
    expect(await asking(server, 10, ['remote_address', '192.0.2.1'])).toBe('OK');
    expect(await asking(server, 11, ['remote_address', '192.0.2.2'])).toBe('OVER_LIMIT');
    const ip = ['remote_address', '192.0.2.3'] as [string, string];
    expect(await asking(server, 6, ['path', '/login/again'], ip)).toBe('OVER_LIMIT');
    // With policies, denied requests are not counted.
    expect(await asking(server, 5, ['path', '/login'], ip)).toBe('OK');
    expect(await asking(server, 1000, ['path', '/logout'], ip)).toBe('OK');
  });

  test("the filter has only fields that exist in Envoy's message, and names the domain of the limits", () => {
    const [one] = parse(filter) as { name: string; typed_config: Record<string, unknown> }[];
    const { '@type': type, ...fields } = one?.typed_config ?? {};
    const name = 'envoy.extensions.filters.http.ratelimit.v3.RateLimit';
    expect(type).toBe(`type.googleapis.com/${name}`);
    const message = envoysMessage('envoy/extensions/filters/http/ratelimit/v3/rate_limit.proto', name);
    // Unknown fields would be lost in serialization.
    expect(message.deserialize(message.serialize(fields))).toEqual(fields);
    expect(fields['domain']).toBe((parse(descriptors) as { domain: string }).domain);
  });
});

test('redis-cli prints the replies shown in the README', async () => {
  const args = ['--config', temporaryFile(limits), '--resp', '127.0.0.1:0'];
  const server = await started(...args);
  await server.says('"listener":"resp"');
  const port = Number(/"listener":"resp","address":"127\.0\.0\.1:(\d+)"/.exec(server.output())?.[1]);
  const [first = '', second = ''] = redisCli.split(/^\$ /m).slice(1);
  for (const [session, replies] of [
    [first, first.trim().split('\n').slice(1)],
    // Alice has an override, so the tier has no effect.
    [second, ['0', '10', '9', '-1', '1']],
  ] as const) {
    const [line = ''] = session.split('\n');
    expect(line).toContain('redis-cli -p 6380 ');
    const said = await typed(line.replace('-p 6380', `-p ${port}`));
    expect(said.trim().split('\n')).toEqual(replies);
  }
});

describe('trying limits', () => {
  const [simulate = '', replay = '', ...more] = trying;

  test('on synthetic traffic shows that requests above the limit are denied', async () => {
    expect(more).toEqual([]);
    const printed = await printedBy(argumentsOf(simulate, {}));
    const [, requests = 0, allowed = 0] = (/(\d+) requests: (\d+) allowed/.exec(printed) ?? []).map(Number);
    // 12 requests a second for ten minutes; the limit allows 10 a second and a burst of 20.
    expect(requests).toBeGreaterThan(6900);
    expect(requests).toBeLessThan(7500);
    expect(allowed).toBeLessThanOrEqual(10 * 600 + 20);
    expect(allowed).toBeGreaterThan(5800);
  });

  test('on a log lists denied keys and suggests a limit', async () => {
    const line = (ip: string, second: number): string =>
      `${ip} - - [10/Oct/2026:13:55:${String(second).padStart(2, '0')} +0000] "GET / HTTP/1.1" 200 23 "-" "curl/8"`;
    const log = Array.from({ length: 60 }, (_, i) => [
      line('192.0.2.1', i),
      ...Array.from({ length: 3 }, () => line('192.0.2.2', i)),
    ]);
    const file = temporaryFile(log.flat().join('\n'), 'access.log');
    const printed = await printedBy(argumentsOf(replay, { 'access.log': file }));
    // All 60 requests of one address are allowed. The other address sends 180 requests, of which the limit
    // allows a burst and then one a second.
    expect(printed).toContain(`240 requests: ${60 + 60 + 59} allowed`);
    expect(printed).toMatch(/denied most often\n +61 {2}192\.0\.2\.2\n$/);
    expect(printed).toContain('to allow 99.9 % of the requests: 91/min (allows 100.000 %)');
  });
});

test('the flags and paths in the README exist', async () => {
  const page = textOf('packages/sluice-server/README.md').replaceAll(/^np[mx] .*$/gm, '');
  const commands = ['serve', 'check', 'simulate', 'replay', 'top'];
  const help = (await Promise.all(commands.map((name) => printedBy([name, '--help', '--all'])))).join('');
  const flags = new Set(page.match(/(?<![\w-])--(?!help|all)[a-z][a-z-]+/g));
  expect([...flags].filter((flag) => !help.includes(`${flag} `))).toEqual([]);
  const server = await serving(limits, { remote: true });
  const calls = [...page.matchAll(/^\| `(GET|POST) (\/\S*)` \|/gm)];
  expect(calls.length).toBeGreaterThan(10);
  for (const [, method = '', path = ''] of calls.filter(([, , path]) => path !== '/live'))
    expect((await fetch(server.url + path, { method })).status, path).not.toBe(404);
});
