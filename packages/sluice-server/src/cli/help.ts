/** The commands of `sluice`, and their help texts. */
import { VERSION } from '../version.ts';
import { type Flag, type Flags, showFlags } from './args.ts';
import { CHECK_FLAGS } from './check.ts';
import { SERVE_FLAGS } from './serve-flags.ts';
import { REPLAY_FLAGS } from './tools/replay.ts';
import { SIMULATE_FLAGS } from './tools/simulate.ts';
import { TOP_FLAGS } from './tools/top.ts';

export interface CommandHelp {
  /** An example of the command's arguments. */
  readonly usage: string;
  readonly summary: string;
  readonly flags: Flags;
  /** Words that can follow the command. Undefined if file names can follow it. */
  readonly words?: readonly string[];
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const COMMANDS: Readonly<Record<string, CommandHelp>> = {
  serve: {
    usage: '--config limits.yaml',
    summary: 'run the server: HTTP, gRPC and RESP',
    flags: SERVE_FLAGS,
    words: [],
  },
  check: { usage: 'limits.yaml', summary: 'validate a configuration, for CI', flags: CHECK_FLAGS },
  simulate: {
    usage: "'10/s burst 20'",
    summary: 'try a limit on synthetic traffic',
    flags: SIMULATE_FLAGS,
    words: [],
  },
  replay: {
    usage: 'access.log --policy …',
    summary: 'try a limit on recorded traffic',
    flags: REPLAY_FLAGS,
  },
  top: {
    usage: 'http://127.0.0.1:8080',
    summary: 'watch a running server in the terminal',
    flags: TOP_FLAGS,
    words: [],
  },
  completion: {
    usage: 'bash',
    summary: 'print a script that completes commands in bash, zsh or fish',
    flags: {},
    words: SHELLS,
  },
};

/** The list of all commands. */
export function showCommands(): string {
  const rows = Object.entries(COMMANDS).map(
    ([name, { usage, summary }]) => `  ${`sluice ${name} ${usage}`.padEnd(38)}${summary}\n`,
  );
  return `sluice ${VERSION}: rate limits for every language\n\n${rows.join('')}\nRun \`sluice COMMAND --help\` for the flags of a command.\n`;
}

/** The command that shows all flags of a command, or all commands if there is no such command. */
export function helpCommandFor(name: string | undefined): string {
  if (name === undefined || !Object.hasOwn(COMMANDS, name)) return 'sluice --help';
  return `sluice ${name} --help${mainFlagsOf(name).length > 0 ? ' --all' : ''}`;
}

function mainFlagsOf(name: string): [flag: string, Flag][] {
  return Object.entries(COMMANDS[name].flags).filter(([, { isMain }]) => isMain);
}

/** The help of one command, in at most 15 lines unless `isComplete` is true. */
export function showCommand(name: string, isComplete: boolean): string {
  const { usage, summary, flags } = COMMANDS[name];
  const main = mainFlagsOf(name);
  const isShort = !isComplete && main.length > 0;
  const shown = isShort
    ? Object.fromEntries(
        main.map(([flag, { shortHelp, ...rest }]) => [flag, { ...rest, help: shortHelp ?? rest.help }]),
      )
    : flags;
  const list = Object.keys(shown).length === 0 ? '' : `\n${showFlags(shown)}\n`;
  const more = isShort ? `\nRun \`sluice ${name} --help --all\` for all flags.\n` : '';
  const variables =
    name === 'serve' && !isShort
      ? '\nEach of these flags can also be set by an environment variable, such as SLUICE_MAX_KEY for --max-key.\n'
      : '';
  return `sluice ${name} ${usage}\n  ${summary}\n${list}${more}${variables}`;
}
