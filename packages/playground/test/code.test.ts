import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import * as sluice from 'sluice';
import { afterAll, describe, expect, test } from 'vitest';
import { parseConfig } from '../../sluice-server/src/config/config.ts';
import { replayCommand } from '../../sluice-server/src/tools/replay.ts';
import { simulateCommand } from '../../sluice-server/src/tools/simulate.ts';
import { codeOf, fileOf } from '../src/model/code.ts';
import { ALGORITHMS, read } from '../src/model/policy.ts';
import { createRun } from '../src/model/run.ts';
import { FIRST, type State, TRAFFIC } from '../src/model/state.ts';
import { generate } from '../src/model/traffic.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-code-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const EVERY: readonly string[] = [
  ...ALGORITHMS.map((name) => `7/3s ${name}`),
  ...['gcra', 'token-bucket', 'leaky-bucket', 'pacer'].map((name) => `7/3s ${name} burst 4`),
  '100/month fixed-window',
  '10/s & 500/h sliding-window & 5000/day fixed-window',
];

const policiesOf = (limiter: sluice.Limiter) =>
  limiter.peek('').policies.map(({ limit, window }) => [limit, window]);

/** What the words between '' mean to a shell. */
const wordsOf = (line: string) => [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2]);

/** Allowed and denied, as the commands of a state report them. */
async function commanded(state: State): Promise<number[][]> {
  writeFileSync(join(folder, 'traffic.log'), fileOf(generate(state.traffic)));
  const counts: number[][] = [];
  for (const line of codeOf('CLI', state).trim().split('\n')) {
    const [sluiceWord, verb, ...words] = wordsOf(line);
    expect(sluiceWord).toBe('sluice');
    let text = '';
    const output = {
      out(more: string) {
        text += more;
      },
      err() {},
    };
    const argv = words.map((word) => (word === 'traffic.log' ? join(folder, word) : word));
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

describe('the same numbers as code', () => {
  test.each(EVERY)('TypeScript for %s runs and makes the same limit', (text) => {
    const code = codeOf('TypeScript', { ...FIRST, limits: [text] });
    const body = code.replace(/^import \{ (.*) \} from 'sluice';/, 'const { $1 } = sluice;');
    const limiter = runInNewContext(`${body}; limiter`, { sluice, console }) as sluice.Limiter;
    expect(policiesOf(limiter)).toEqual(policiesOf(sluice.createLimiter(text)));
    expect(limiter.peek('alice').resetAfter).toBeGreaterThan(0); // it takes one itself
  });

  test('YAML is a configuration that the server reads, with the same limits', () => {
    const text = codeOf('YAML', { ...FIRST, limits: EVERY });
    const { limits } = parseConfig([{ file: 'limits.yaml', text }]);
    expect([...limits.values()].map(({ policies }) => policies)).toEqual(EVERY);
    expect([...limits.keys()].slice(0, 2)).toEqual(['gcra', 'token-bucket']);
  });

  test.each(['steady', 'bursts', 'poisson', 'edge', 'rogue'] as const)(
    'the command line counts the same on %s traffic as the page',
    async (kind) => {
      const limits = ALGORITHMS.map((name) => `9/10s ${name}`);
      const state = { ...FIRST, limits, traffic: TRAFFIC[kind] };
      expect(await commanded(state)).toEqual(shown(state));
    },
  );

  test('a log is replayed by its name and by what tells its callers apart', () => {
    const state = { ...FIRST, limits: ['10/s'], traffic: TRAFFIC.log };
    expect(codeOf('CLI', state, { name: 'my.log', by: 'ip' })).toBe(
      "sluice replay my.log --policy '10/s' --by ip\n",
    );
    expect(codeOf('CLI', { ...state, patience: 1000 })).toContain('# on the page denied requests wait');
  });
});
