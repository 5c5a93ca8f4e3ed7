/** Parses token files. Each line is a token, optionally followed by its name and by what it permits. */
import { type Token, TOKEN_VERBS, type TokenVerb } from '../listeners/grants.ts';
import { UsageError } from './usage-error.ts';

const FORM = 'a token may be followed by name=NAME, verbs=VERB,VERB and limits=LIMIT,LIMIT';

/** Throws a UsageError that names the line but never shows the token. `source` is the file's name, for messages. */
export function parseTokens(text: string, source: string): Token[] {
  const tokens: Token[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [token = '', ...words] = line.trim().split(/\s+/);
    if (token === '' || token.startsWith('#')) continue;
    const invalid = (reason: string): UsageError => new UsageError(`${source}, line ${index + 1}: ${reason}`);
    const options = new Map<string, string>();
    for (const word of words) {
      const end = word.indexOf('=');
      const option = word.slice(0, Math.max(end, 0));
      // The word is not shown, because it may be part of a token that contains spaces.
      if (!OPTIONS.has(option)) throw invalid(`unknown word after the token; ${FORM}`);
      if (options.has(option)) throw invalid(`${option}= occurs twice`);
      if (word.length === end + 1) throw invalid(`${option}= must not be empty`);
      options.set(option, word.slice(end + 1));
    }
    tokens.push({
      token,
      name: options.get('name'),
      verbs: options
        .get('verbs')
        ?.split(',')
        .map((verb) => verbOf(verb, invalid)),
      limits: options
        .get('limits')
        ?.split(',')
        .map((limit) => limitOf(limit, invalid)),
    });
  }
  return tokens;
}

const OPTIONS: ReadonlySet<string> = new Set(['name', 'verbs', 'limits']);

function verbOf(word: string, invalid: (reason: string) => UsageError): TokenVerb {
  const verb = TOKEN_VERBS.find((known) => known === word);
  if (verb === undefined)
    throw invalid(`unknown verb ${JSON.stringify(word)}; must be one of ${TOKEN_VERBS.join(', ')}`);
  return verb;
}

/** Decodes a limit's name, in which a space or comma is written as %20 or %2C. */
function limitOf(word: string, invalid: (reason: string) => UsageError): string {
  try {
    if (word !== '') return decodeURIComponent(word);
  } catch {}
  throw invalid(
    `invalid name of a limit: ${JSON.stringify(word)}; write %20 for a space, %2C for a comma and %25 for %`,
  );
}
