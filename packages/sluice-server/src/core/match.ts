/** Finds the rule of a domain that applies to a descriptor. */
import { exactId, labelWord } from '../config/descriptors.ts';
import type { Domain, Level, Rule } from '../config/model.ts';

/** A key-value pair of a descriptor, such as `remote_address` and an IP address. */
export interface Entry {
  /** The key, as written in the configuration. */
  readonly key: string;
  /** The value that this request has for the key. */
  readonly value: string;
}

export interface Match {
  readonly rule: Rule;
  /**
   * The key under which the limit counts the request. It consists of the entries' values, or of the pattern for rules with
   * `share_threshold`.
   */
  readonly subject: string;
  /** Name of the limit in metrics. */
  readonly label: string;
}

/**
 * Follows the most specific rule at each level. A rule with key and value takes precedence over a rule with a pattern, which
 * takes precedence over a rule with only a key. There is no backtracking, and a rule applies only to descriptors that have
 * exactly as many entries as the rule has levels.
 */
export function matchRule(domain: Domain, entries: readonly Entry[]): Match | undefined {
  let level: Level | undefined = domain.level;
  const path: Rule[] = [];
  for (const { key, value } of entries) {
    const rule: Rule | undefined = level && ruleAt(level, key, value);
    if (rule === undefined) return undefined;
    path.push(rule);
    level = rule.level;
  }
  const rule = path.at(-1);
  if (rule === undefined) return undefined;
  return { rule, subject: subjectOf(path, entries), label: labelOf(path, entries) };
}

function ruleAt({ exact, patterns, any }: Level, key: string, value: string): Rule | undefined {
  const found = exact.get(exactId(key, value));
  if (found !== undefined) return found;
  for (const rule of patterns)
    if (rule.key === key && matchesPattern(rule.value as string, value)) return rule;
  return any.get(key);
}

/** Whether the text matches the pattern, in which `*` matches any text. Runs in linear time, unlike a regular expression. */
export function matchesPattern(pattern: string, text: string): boolean {
  const parts = pattern.split('*');
  const first = parts[0];
  const last = parts.at(-1) as string;
  if (parts.length === 1) return pattern === text;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}

/** Joins the values so that two different lists of values never give the same text. */
function subjectOf(path: readonly Rule[], entries: readonly Entry[]): string {
  let subject = '';
  for (let i = 0; i < path.length; i++) {
    const { shared, value } = path[i];
    const word = shared ? (value as string) : entries[i].value;
    subject += i === 0 ? escaped(word) : `/${escaped(word)}`;
  }
  return subject;
}

function escaped(word: string): string {
  return word.includes('/') || word.includes('%') ? word.replace(/[%/]/g, encodeURIComponent) : word;
}

/** The label from the configuration. Rules with `detailed_metric` or `value_to_metric` add the request's values. */
function labelOf(path: readonly Rule[], entries: readonly Entry[]): string {
  const rule = path.at(-1) as Rule;
  if (!rule.detailed && !path.some(({ valueToMetric }) => valueToMetric)) return rule.label;
  const words = path.map(({ key, value, shared, valueToMetric }, i) => {
    const isShown = !shared && (rule.detailed || valueToMetric);
    return labelWord(key, isShown ? entries[i]?.value : value);
  });
  const first = path[0];
  const domain = first.label.slice(0, -labelWord(first.key, first.value).length - 1);
  return [domain, ...words].join('.');
}
