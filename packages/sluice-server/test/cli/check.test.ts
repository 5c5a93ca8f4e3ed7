/** Tests the input and output formats of `sluice check`, as a real process. Needs the build. */
import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMAND, temporaryFile } from '../serving.ts';

function check(args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, 'check', ...args], {
    input,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('check - reads the configuration from standard input', () => {
  expect(check(['-'], 'limits: { a: 1/s }')).toEqual({
    status: 0,
    stdout: '<stdin>: valid (1 limits, 0 domains)\n',
    stderr: '',
  });
  expect(check(['-'], 'limits:\n  a: 1/x\n')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^<stdin>:2:6: /),
  });
});

test('check --format json prints one object with all problems', () => {
  const file = temporaryFile('limits:\n  a: 1/x\n  b: { polices: 1/s }\n');
  const { status, stdout, stderr } = check(['--format', 'json', file]);
  expect([status, stderr]).toEqual([1, '']);
  const { valid, problems } = JSON.parse(stdout) as { valid: boolean; problems: { message: string }[] };
  expect(valid).toBe(false);
  expect(problems).toHaveLength(3);
  expect(problems[0]).toEqual({ file, line: 2, column: 6, message: expect.stringContaining('1/x') });
  const good = check(['--format', 'json', '-'], 'limits: { a: 1/s }').stdout;
  expect(JSON.parse(good)).toEqual({ valid: true, limits: 1, domains: 0, problems: [] });
});

test('check --format github prints a workflow command for each problem, with escaped characters', () => {
  const given = temporaryFile('limits:\n  "50%": 1/x\n');
  const file = join(dirname(given), 'a,b:100%.yaml');
  renameSync(given, file);
  const { status, stdout } = check(['--format', 'github', file]);
  expect(status).toBe(1);
  const escaped = file.replace('a,b:100%', 'a%2Cb%3A100%25');
  expect(stdout.startsWith(`::error file=${escaped},line=2,col=10::`)).toBe(true);
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
});
