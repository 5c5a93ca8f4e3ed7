/** Checks the Lua files, and the scripts that are assembled from them, with standard Lua tools. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { algorithmsByName } from '../../../src/algorithms/by-name.ts';
import { planOf } from '../../../src/policy/named-policies.ts';
import { ALGORITHMS } from '../../../src/stores/redis/lua.ts';
import { scriptPlan } from '../../../src/stores/redis/script.ts';
import { CASES } from '../../support/policies.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.lua'], {
  cwd: root,
  encoding: 'utf8',
});

/** What Debian's lua5.1 prints about a text that it cannot parse; empty if it can. */
function syntaxErrors(...args: readonly string[]): string {
  return spawnSync('luac5.1', ['-p', ...args], { cwd: root, encoding: 'utf8' }).stderr;
}

test.each(files.trim().split('\n'))('%s is valid Lua 5.1', (file) => {
  expect(syntaxErrors(file)).toBe('');
});

test('the bundle contains the Lua file of every algorithm', () => {
  const source = join(root, 'packages/sluice/src/algorithms');
  const found = readdirSync(source, { recursive: true }).filter((file) => String(file).endsWith('.lua'));
  for (const file of found) expect(files).toContain(String(file));
  expect(found).toHaveLength(Object.keys(ALGORITHMS).length);
});

describe.each(Object.entries(CASES))('%s', (_, { policies }) => {
  const plan = planOf(policies);

  test('has a script that is valid Lua 5.1', () => {
    const { source } = scriptPlan(plan);
    expect(spawnSync('luac5.1', ['-p', '-'], { input: source, encoding: 'utf8' }).stderr).toBe('');
  });

  test('declares the same params and cells as the TypeScript code', () => {
    for (const { algorithm, params } of plan.policies) {
      const declared = ALGORITHMS[algorithm.name];
      expect(declared?.cells).toHaveLength(algorithm.width(params));
      if (algorithm.redis === undefined) expect(declared?.params).toEqual(Object.keys(params));
      else expect(declared?.params).toHaveLength(algorithm.redis.args(params, 0).length);
    }
  });
});

test('for every algorithm with fixed-size rows, the bundle contains the functions of the lean path, the code for the most frequent hits', () => {
  for (const [name, algorithm] of algorithmsByName('algorithms')) {
    const inlined = Object.keys(ALGORITHMS[name]?.inlined ?? {});
    if (algorithm.variableLength === undefined)
      expect(inlined, name).toEqual(expect.arrayContaining(['wait_for', 'take', 'clear_in']));
    else expect(inlined, name).toEqual([]);
  }
});
