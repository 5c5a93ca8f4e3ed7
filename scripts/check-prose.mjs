// @ts-check
// Fails on phrases that make readers stumble, in documentation, comments, messages and test names. Finds only the worst patterns;
// docs/contributing/glossary.md describes the style. Run: node scripts/check-prose.mjs [file…]

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const nouns =
  'address|array|device|duration|function|key|limit|list|name|number|object|password|policy|proxy|string|text|token';
const verbs =
  'is|are|was|has|have|had|can|may|must|stands?|comes?|came|leaves?|left|waits?|asks?|wants?|knows?|gives?|takes?|goes|keeps?|fits|needs?|denies|passes|lies';

/** A pattern, and what to write instead. @type {readonly (readonly [RegExp, string])[]} */
const rules = [
  [new RegExp(`(?<!\\bthere )\\b(is|are|was|were) no (${nouns})\\b`, 'i'), '"is not a …" or "must be a …"'],
  [new RegExp(`(^|[.:;*/|>#] |['"\`(])(Who|Whoever|What) (${verbs})\\b[^?]*[.;]`), '"A caller that …"'],
  [new RegExp(`[;:] (who|what) (${verbs})\\b(?!.*\\?)`), '"a caller that …"'],
  // Does not match the name 'nobody' of a user or an example key.
  [/(?<!['-])\b(nobody|somebody)\b(?!['-])/i, '"no caller", "no test", "someone"'],
  [/\banew\b/i, '"again" or "from scratch"'],
  [/\bby hand\b/i, '"manual", "manually"'],
  [/\bso (many|long|much)\b(?! as| that)/i, '"at most N", "N", "for that duration"'],
  [/\bthat there (is|are)\b/i, '"existing", or leave it out'],
  [/\bwith words\b/i, '"with a clear error"'],
  [/\bfair weather\b/i, '"fault-free period"'],
  [/\bas good as (new|zeros|clear)\b/i, '"fully replenished"'],
  [/\b(a|the|its|both|three|these) doors?\b/i, '"listener"'],
  [/\bmade-up traffic\b/i, '"synthetic traffic"'],
  [/\b(stands?|stood) (beside|before|behind|among|there|alone|for all)\b/i, '"is", "applies"'],
  [/\b(tells?|told) (its|the) time\b/i, '"provides the time"'],
  [/\bOf (the|these|those|all|its|what) [a-z]+ (alone|only|is|are)\b/, 'subject, verb, object'],
  [/\bfor the moment\b/i, '"temporarily", "currently"'],
  [/\bthere is the same\b/i, '"the same … applies"'],
];

/** Files that quote these phrases, hold generated text, or record what other software printed. */
const skipped =
  /^(scripts\/check-prose\.mjs|docs\/contributing\/glossary\.md|benchmarks\/RESULTS\.md|package-lock\.json)$|\/vectors\//;

const list = ['ls-files', '--cached', '--others', '--exclude-standard'];
const named = process.argv.slice(2);
const files = named.length > 0 ? named : execFileSync('git', list, { encoding: 'utf8' }).split('\n');
let count = 0;
for (const file of files.filter((name) => /\.(tsx?|m?js|md|lua|ya?ml|jsonc?|vue|html)$/.test(name))) {
  if (skipped.test(file) || !existsSync(file)) continue;
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries())
    for (const [pattern, advice] of rules) {
      const match = pattern.exec(line);
      if (match === null) continue;
      count++;
      console.error(`${file}:${index + 1}: ${match[0].trim().slice(0, 60)}\n    write ${advice}`);
    }
}
if (count > 0) process.exitCode = 1;
console.log(`prose: ${count === 0 ? 'no' : count} phrase${count === 1 ? '' : 's'} to rewrite`);
