/** Tests the help of each command, shell completion, and flags that several commands share. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { readArgs } from '../../src/cli/args.ts';
import { main } from '../../src/cli/cli.ts';
import { COMMANDS } from '../../src/cli/help.ts';
import { SERVE_FLAGS } from '../../src/cli/serve-flags.ts';
import { millisOf, serverOptions } from '../../src/cli/serve-options.ts';
import { temporaryFile } from '../serving.ts';

async function sluice(...args: string[]): Promise<[code: number, printed: string]> {
  let printed = '';
  const write = (text: string): void => {
    printed += text;
  };
  return [await main(args, { out: write, err: write }), printed];
}

describe('help', () => {
  test.each(['', ...Object.keys(COMMANDS).map((name) => `${name} `)])(
    'of `sluice %s--help` has at most 15 lines',
    async (command) => {
      const [code, printed] = await sluice(...`${command}--help`.split(' '));
      expect(code).toBe(0);
      expect(printed.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
      expect(printed).toMatch(command === '' ? /sluice serve --config/ : new RegExp(`^sluice ${command}`));
    },
  );

  test('of `sluice serve` has no line of more than 100 characters', async () => {
    const [, printed] = await sluice('serve', '--help');
    expect(Math.max(...printed.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  test('of `sluice serve` shows both flags that TLS needs', async () => {
    const [, printed] = await sluice('serve', '--help');
    for (const flag of ['tls-cert', 'tls-key']) expect(printed).toContain(`  --${flag} FILE`);
  });

  test('with --all shows every flag of the command', async () => {
    const [, printed] = await sluice('serve', '--help', '--all');
    const missing = Object.keys(SERVE_FLAGS).filter((flag) => !printed.includes(`  --${flag} `));
    expect(missing).toEqual([]);
    expect((await sluice('serve', '--help'))[1]).not.toContain('--max-message');
    expect((await sluice('help', 'serve'))[1]).toBe((await sluice('serve', '--help'))[1]);
  });
});

test.each(['help nope', 'nope --help', 'nope'])('sluice %s reports the unknown command', async (command) => {
  expect(await sluice(...command.split(' '))).toEqual([
    2,
    "sluice: unknown command 'nope'. Run `sluice --help` for usage.\n",
  ]);
});

describe('every flag whose value is a duration', () => {
  const flags = Object.keys(SERVE_FLAGS).filter((flag) => SERVE_FLAGS[flag]?.value === 'TIME');

  test('is declared with the value TIME', () => {
    expect(flags).toEqual(
      expect.arrayContaining(['deadline', 'idle-timeout', 'keep-alive', 'drain-delay', 'drain-timeout']),
    );
  });

  test.each(flags)('accepts a duration: --%s 1500ms', (flag) => {
    const args = readArgs(['--config', 'limits.yaml', `--${flag}`, '1500ms'], SERVE_FLAGS);
    expect(() => serverOptions(args, {}, false)).not.toThrow();
    expect(millisOf(args, flag)).toBe(1500);
  });

  test.each([
    ...flags.map((flag) => `serve --config limits.yaml --${flag}`),
    'simulate 10/s --for',
    'simulate 10/s --every',
    'replay access.log --policy 10/s --every',
    'top --every',
  ])(
    'is named in the error message if its value is not a valid duration: sluice %s 5parsecs',
    async (command) => {
      const config = temporaryFile('limits: { a: 1/s }');
      const given = command.split(' ').map((arg) => (arg === 'limits.yaml' ? config : arg));
      const [code, printed] = await sluice(...given, '5parsecs');
      expect(code).toBe(2);
      expect(printed).toContain(`${given.at(-1)} must be a duration`);
    },
  );
});

describe('completion', () => {
  /** Loads the script in a real bash, and returns what it suggests for the last of the words. */
  async function suggested(...words: string[]): Promise<string[]> {
    const [, script] = await sluice('completion', 'bash');
    const array = words.map((word) => `'${word}'`).join(' ');
    const ask = `COMP_WORDS=(${array}); COMP_CWORD=${words.length - 1}; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const options = { input: `${script}\n${ask}\n`, encoding: 'utf8' } as const;
    return execFileSync('bash', ['--norc'], options).split('\n').filter(Boolean);
  }

  test('suggests commands, flags and the values of a flag in bash', async () => {
    expect(await suggested('sluice', 'se')).toEqual(['serve']);
    expect(await suggested('sluice', 'serve', '--store-')).toEqual([
      '--store-ca',
      '--store-cert',
      '--store-key',
    ]);
    expect(await suggested('sluice', 'serve', '--on-failure', 'd')).toEqual(['deny']);
    expect(await suggested('sluice', 'check', '--format', '')).toEqual(['text', 'json', 'github']);
    expect(await suggested('sluice', 'completion', 'f')).toEqual(['fish']);
    expect(await suggested('sluice', 'serve', '--http', '')).toEqual([]);
  });

  test('suggests files for flags whose value is a file', async () => {
    const file = temporaryFile('');
    expect(await suggested('sluice', 'serve', '--config', file.slice(0, -3))).toEqual([file]);
    expect(await suggested('sluice', 'check', file.slice(0, -3))).toEqual([file]);
  });

  test.each(['zsh', 'fish'])('for %s contains every flag of every command', async (shell) => {
    const [code, printed] = await sluice('completion', shell);
    expect(code).toBe(0);
    for (const { flags } of Object.values(COMMANDS))
      for (const flag of Object.keys(flags))
        expect(printed).toContain(shell === 'zsh' ? `--${flag}` : ` -l ${flag} `);
  });

  test('rejects an unknown shell', async () => {
    expect(await sluice('completion', 'tcsh')).toEqual([
      2,
      expect.stringContaining('expected one of bash, zsh, fish; got tcsh'),
    ]);
  });
});
