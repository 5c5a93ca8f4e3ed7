/** Looks up the command that a word names. */
import { detachedCopy } from '../../core/detached-copy.ts';
import type { Command, Commands } from './command.ts';

/** The command that a word names, and its label in metrics. */
export interface Named {
  readonly word: string;
  readonly command: Command | undefined;
  readonly label: string;
}

export const UNKNOWN: Named = { word: '', command: undefined, label: 'unknown' };

/** Returns `UNKNOWN` if no command has this name. The result does not keep the client's input in memory. */
export function namedBy(word: string, commands: Commands): Named {
  const name = word.toLowerCase();
  const command = commands.get(name);
  return command === undefined ? UNKNOWN : { word: detachedCopy(word), command, label: detachedCopy(name) };
}
