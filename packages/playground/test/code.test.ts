import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import * as sluice from 'sluice';
import { afterAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../sluice-server/src/config/config.ts';
import { replayCommand } from '../../sluice-server/src/cli/tools/replay.ts';
import { simulateCommand } from '../../sluice-server/src/cli/tools/simulate.ts';
import { codeOf, fileOf } from '../src/model/code.ts';
import { ALGORITHMS, UNRATED } from '../src/model/algorithms.ts';
import { policiesOf, read } from '../src/model/policy.ts';
import { createRun } from '../src/model/run.ts';
import { FIRST, type State, TRAFFIC } from '../src/model/state.ts';
import { generate } from '../src/model/traffic.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-code-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RATED = ALGORITHMS.filter((name) => !UNRATED.includes(name));

const EVERY: readonly string[] = [
  ...RATED.map((name) => `7/3s ${name}`),
  ...['gcra', 'token-bucket', 'leaky-bucket', 'pacer'].map((name) => `7/3s ${name} burst 4`),
  '100/month fixed-window',
  '10/s & 500/h sliding-window & 5000/day fixed-window',
];

/** Limits that can be written only with options. */
const WITH_OPTIONS: readonly string[] = [
  'concurrency { limit: 3, lease: 2s }',
  'min-interval { every: 700ms }',
  '9/10s & penalty { after: 2, within: 10s, block: 15s }',
  'sliding-log { limit: 9, per: 10s, resolution: 5 }',
  'fixed-window { limit: 9, per: 10s, align: first }',
  'token-bucket { capacity: 9, refill: 3, every: 3s, continuous: false }',
];

const statesOf = (limiter: sluice.Limiter) =>
  limiter.peek('').policies.map(({ limit, window }) => [limit, window]);

/** Splits a command line into arguments, like a shell with single quotes. */
const wordsOf = (line: string) => [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2]);

/** The numbers of allowed and denied requests that the commands for a state report. */
async function commanded(state: State): Promise<number[][]> {
  writeFileSync(join(folder, 'traffic.log'), fileOf(generate(state.traffic)));
  const counts: number[][] = [];
  writeFileSync(join(folder, 'limits.yaml'), codeOf('YAML', state));
  for (const line of codeOf('CLI', state).trim().split('\n')) {
    if (line.startsWith('#')) continue;
    const [sluiceWord, verb, ...words] = wordsOf(line);
    expect(sluiceWord).toBe('sluice');
    let text = '';
    const output = {
      out(more: string) {
        text += more;
      },
      err() {},
    };
    const argv = words.map((word) =>
      ['traffic.log', 'limits.yaml'].includes(word) ? join(folder, word) : word,
    );
    const code = verb === 'simulate' ? simulateCommand(argv, output) : await replayCommand(argv, output);
    expect(code).toBe(0);
    counts.push((/(\d+) allowed .* (\d+) denied/.exec(text) ?? []).slice(1).map(Number));
  }
  return counts;
}

function shown({ limits, traffic }: State): number[][] {
  return limits.map((policies) => {
    const { parts: bounds = [] } = read(policies) as { parts?: [] };
    const run = createRun({ traffic: generate(traffic), policies, bounds, patience: 0, focus: 0 });
    run.work(Infinity);
    return [run.admitted.count, run.denied.count];
  });
}

describe('the code that the page shows', () => {
  test.each([...EVERY, ...WITH_OPTIONS])(
    'in TypeScript creates a limiter with the same limit as the page: %s',
    (text) => {
      const code = codeOf('TypeScript', { ...FIRST, limits: [text] });
      const body = code.replace(/^import \{ (.*) \} from 'sluice';/, 'const { $1 } = sluice;');
      const limiter = runInNewContext(`${body}; limiter`, { sluice, console }) as sluice.Limiter;
      expect(statesOf(limiter)).toEqual(statesOf(sluice.createLimiter(policiesOf(text))));
      expect(limiter.peek('alice').resetAfter).toBeGreaterThan(0); // the code itself takes one unit
    },
  );

  test.each([
    ['10/10S & 100/min  sliding-log', [2, 30], [2, 30]],
    ["9/10s & penalty { after: 2, within: '10s', block: 15s }", [0.5], [0.5, 0]],
    ["gcra { limit: 9, per: '10s' } & 5/s", [0, 5], [0, 5]],
  ])('for %s with costs %j charges these costs in every language', (text, costs, taken) => {
    const state = { ...FIRST, limits: [text], costs: [costs] };
    const code = codeOf('TypeScript', state).replace(/^import (.*) from 'sluice';/, 'const $1 = sluice;');
    const decision = runInNewContext(`${code}; decision`, { sluice, console }) as sluice.Decision;
    expect(decision.policies.map((policy) => policy.taken)).toEqual(taken);

    const yaml = codeOf('YAML', state);
    const { policies } = parseConfig([{ file: 'limits.yaml', text: yaml }]).limits.get('api') ?? {};
    const [, body = ''] = /^# POST \/v1\/take (.*)$/m.exec(yaml) ?? [];
    const { limit, key, cost } = JSON.parse(body) as {
      limit: string;
      key: string;
      cost: Record<string, number>;
    };
    expect(limit).toBe('api');
    const charged = sluice.createLimiter(policies as sluice.Policies).take(key, { cost });
    expect(charged.policies.map((policy) => policy.taken)).toEqual(taken);

    expect(codeOf('CLI', state)).toContain('but cost 1 in these commands');
  });

  test('in TypeScript shows the costs of every limit that has costs', () => {
    const limits = ['10/s', '10/s & 5/min', '10/s & 6/min'];
    const code = codeOf('TypeScript', { ...FIRST, limits, costs: [[], [1, 2], []] });
    expect(code).toContain("const decision = limiter1.take('alice');");
    expect(code).toContain("limiter2.take('alice', { cost: { '10/s': 1, '5/min': 2 } });");
    expect(code).not.toContain('limiter3.take');
    expect(codeOf('YAML', { ...FIRST, limits })).not.toContain('#');
    expect(codeOf('CLI', { ...FIRST, limits })).not.toContain('#');
  });

  test('in TypeScript runs as a standalone program', () => {
    const limits = [...WITH_OPTIONS.slice(0, 3), '7/3s burst 4'];
    const code = `${codeOf('TypeScript', { ...FIRST, limits })}console.log(decision.allowed, limiter3.take('a').policies.length);`;
    const cwd = fileURLToPath(new URL('..', import.meta.url));
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd });
    expect(String(printed)).toBe('true 2\n');
  });

  test('in YAML is a valid server configuration with the same limits', () => {
    const text = codeOf('YAML', { ...FIRST, limits: EVERY });
    const { limits } = parseConfig([{ file: 'limits.yaml', text }]);
    expect([...limits.values()].map(({ policies }) => policies)).toEqual(EVERY);
    expect([...limits.keys()].slice(0, 2)).toEqual(['gcra', 'token-bucket']);
  });

  test('in YAML, for limits with options, is a valid server configuration with the same limits', () => {
    const text = codeOf('YAML', { ...FIRST, limits: WITH_OPTIONS });
    const { limits } = parseConfig([{ file: 'limits.yaml', text }]);
    expect([...limits.values()].map(({ policies }) => statesOf(sluice.createLimiter(policies)))).toEqual(
      WITH_OPTIONS.map((one) => statesOf(sluice.createLimiter(policiesOf(one)))),
    );
  });

  test.each(['steady', 'bursts', 'poisson', 'edge', 'rogue'] as const)(
    'for the command line gives the same counts as the page on %s traffic',
    async (kind) => {
      const limits = [...RATED.map((name) => `9/10s ${name}`), ...WITH_OPTIONS];
      const state = { ...FIRST, limits, traffic: TRAFFIC[kind] };
      expect(await commanded(state)).toEqual(shown(state));
    },
  );

  test("for the command line passes the log's file name and key field to sluice replay", () => {
    const state = { ...FIRST, limits: ['10/s'], traffic: TRAFFIC.log };
    expect(codeOf('CLI', state, { name: 'my.log', by: 'ip' })).toBe(
      "sluice replay my.log --policy '10/s' --by ip\n",
    );
    expect(codeOf('CLI', { ...state, patience: 1000 })).toContain('# denied requests wait on the page');
  });
});
