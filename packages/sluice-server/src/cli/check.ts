/** sluice check: validates configuration files, for CI. Errors are printed as file:line:column, which editors can open. */
import { type Flags, readArgs } from './args.ts';
import { loadConfig } from '../config/config.ts';
import { ConfigError, showFault } from '../config/model.ts';
import { sizes } from '../config/reload.ts';
import { UsageError } from '../config/usage-error.ts';

export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

export const CHECK_FLAGS: Flags = {
  'merge-domains': {
    help: 'let several files define the same domain, as with `sluice serve --merge-domains`',
  },
};

export function checkCommand(argv: readonly string[], { out, err }: Output): number {
  const args = readArgs(argv, CHECK_FLAGS, process.env);
  const paths = args.positionals;
  if (paths.length === 0)
    throw new UsageError('no file given. Pass at least one file, as in `sluice check limits.yaml`.');
  try {
    const { limits, domains } = sizes(loadConfig(paths, { mergeDomains: args.has('merge-domains') }));
    out(`${paths.join(', ')}: valid (${limits} limits, ${domains} domains)\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const fault of error.faults) err(`${showFault(fault)}\n`);
    return 1;
  }
}
