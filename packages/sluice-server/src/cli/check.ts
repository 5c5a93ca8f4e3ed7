/** sluice check: validates configuration files, for CI. Errors are printed as file:line:column, which editors can open. */
import { text } from 'node:stream/consumers';
import { type Flags, readArgs } from './args.ts';
import { type ConfigFile, parseConfig, readFiles } from '../config/config.ts';
import { ConfigError, type Fault, showFault } from '../config/model.ts';
import { sizes } from '../config/reload.ts';
import { UsageError } from '../config/usage-error.ts';

export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const FORMATS = ['text', 'json', 'github'] as const;

export const CHECK_FLAGS: Flags = {
  'merge-domains': {
    help: 'let several files define the same domain, as with `sluice serve --merge-domains`',
  },
  format: {
    value: 'FORMAT',
    choices: FORMATS,
    help: 'text (default), json, or github for annotations in GitHub Actions',
  },
};

/** Name of standard input in messages. */
const STDIN = '<stdin>';

export async function checkCommand(argv: readonly string[], { out, err }: Output): Promise<number> {
  const args = readArgs(argv, CHECK_FLAGS, process.env);
  const format = args.choice('format', FORMATS) ?? 'text';
  const paths = args.positionals;
  if (paths.length === 0)
    throw new UsageError(
      'no file given. Pass at least one file, or - for standard input, as in `sluice check limits.yaml`.',
    );
  try {
    const found = sizes(parseConfig(await filesOf(paths), { mergeDomains: args.has('merge-domains') }));
    if (format === 'json') out(`${JSON.stringify({ valid: true, ...found, problems: [] })}\n`);
    else {
      const names = paths.map((path) => (path === '-' ? STDIN : path)).join(', ');
      out(`${names}: valid (${found['limits']} limits, ${found['domains']} domains)\n`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { faults } = error;
    if (format === 'json') out(`${JSON.stringify({ valid: false, problems: faults.map(problemOf) })}\n`);
    else if (format === 'github') for (const fault of faults) out(`${annotation(fault)}\n`);
    else for (const fault of faults) err(`${showFault(fault)}\n`);
    return 1;
  }
}

async function filesOf(paths: readonly string[]): Promise<ConfigFile[]> {
  const files = readFiles(paths.filter((path) => path !== '-'));
  return paths.includes('-') ? [...files, { file: STDIN, text: await text(process.stdin) }] : files;
}

function problemOf({ file, line, column, message }: Fault): Fault {
  return { file, line, column, message };
}

/** A workflow command of GitHub Actions, which shows the fault next to its line in a pull request. */
function annotation({ file, line, column, message }: Fault): string {
  const escaped = (value: string): string =>
    value.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = escaped(file).replaceAll(':', '%3A').replaceAll(',', '%2C');
  return `::error file=${property},line=${line},col=${column}::${escaped(message)}`;
}
