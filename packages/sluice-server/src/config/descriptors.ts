/** Parses a domain and its descriptors, in the configuration format of envoyproxy/ratelimit. */
import {
  type Level,
  type Metadata,
  type Rate,
  type Rule,
  type RuleLimit,
  type Unit,
  UNITS,
} from './model.ts';
import { readPolicies, showPolicies } from './policies.ts';
import { makePolicy } from './recipes.ts';
import type { Value } from './value.ts';

const DESCRIPTOR = [
  'key',
  'value',
  'rate_limit',
  'descriptors',
  'shadow_mode',
  'quota_mode',
  'detailed_metric',
  'value_to_metric',
  'share_threshold',
  'metadata',
];
const RATE_LIMIT = [
  'unit',
  'requests_per_unit',
  'unit_multiplier',
  'unlimited',
  'name',
  'replaces',
  'policies',
];
const UINT32 = 2 ** 32 - 1;

/** The enclosing descriptors, starting with the domain. `path` is part of limiter names, and `label` is shown to people. */
interface Above {
  readonly path: string;
  readonly label: string;
}

/** Reads sibling descriptors into `level`, which may already contain the descriptors of another file. */
export function readLevel(
  value: Value | undefined,
  above: Above,
  level: Level = { exact: new Map(), patterns: [], any: new Map() },
): Level {
  if (value === undefined || value.isEmpty) return level;
  const patterns = new Set(level.patterns.map((rule) => exactId(rule.key, rule.value as string)));
  for (const item of value.list('descriptors')) {
    const rule = readRule(item, above);
    if (rule !== undefined && !add(level, patterns, rule)) {
      const what = rule.value === undefined ? rule.key : `${rule.key} with value ${rule.value}`;
      item.fault(`a descriptor for ${what} is already defined at this level`);
    }
  }
  return level;
}

/**
 * Adds a rule to a level. Returns false if the level already has a descriptor for the same key and value. `known` holds the
 * patterns added so far.
 */
function add({ exact, patterns, any }: Level, known: Set<string>, rule: Rule): boolean {
  const { key, value } = rule;
  if (value === undefined) return !any.has(key) && any.set(key, rule) !== undefined;
  const id = exactId(key, value);
  if (value.includes('*')) {
    const isKnown = known.has(id);
    known.add(id);
    return !isKnown && patterns.push(rule) > 0;
  }
  return !exact.has(id) && exact.set(id, rule) !== undefined;
}

export function exactId(key: string, value: string): string {
  return `${key.length} ${key}${value}`;
}

/** Escapes path separators inside a word, so that different paths are never equal. */
export function pathWord(word: string): string {
  return word.replace(/[%/=]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function readRule(value: Value, above: Above): Rule | undefined {
  const members = value.members('a descriptor', DESCRIPTOR);
  if (!value.isMap) return undefined;
  const key = members.get('key')?.text('key');
  if (key === undefined || key === '') {
    if (key !== undefined || !members.has('key')) value.fault('a descriptor requires a key');
    return undefined;
  }
  const given = members.get('value');
  // An empty value means no value, as in envoyproxy/ratelimit.
  const wanted = given === undefined || given.isEmpty ? undefined : given.text('value') || undefined;
  const path = `${above.path}/${pathWord(key)}${wanted === undefined ? '' : `=${pathWord(wanted)}`}`;
  const label = `${above.label}.${labelWord(key, wanted)}`;
  const flag = (name: string): boolean => members.get(name)?.boolean(name) ?? false;
  const shared = flag('share_threshold');
  if (shared && wanted?.includes('*') !== true)
    members.get('share_threshold')?.fault('share_threshold requires a value that contains *');
  const nested = members.get('descriptors');
  return {
    key,
    value: wanted,
    path,
    label,
    limit: readRateLimit(members.get('rate_limit')),
    level: nested === undefined || nested.isEmpty ? undefined : readLevel(nested, { path, label }),
    shadow: flag('shadow_mode'),
    quota: flag('quota_mode'),
    metadata: readMetadata(members.get('metadata')),
    shared,
    valueToMetric: flag('value_to_metric'),
    detailed: flag('detailed_metric'),
  };
}

function readMetadata(value: Value | undefined): Metadata | undefined {
  if (value === undefined || value.isEmpty) return undefined;
  if (!value.isMap) return value.fault(`metadata must be a map; got ${value.kind}`);
  return value.json('metadata') as Metadata;
}

function readRateLimit(value: Value | undefined): RuleLimit | undefined {
  if (value === undefined || value.isEmpty) return undefined;
  const members = value.members('rate_limit', RATE_LIMIT);
  if (!value.isMap) return undefined;
  const name = members.get('name')?.text('name');
  const replaces = readReplaces(members.get('replaces'), name);
  const rest = { name, replaces };
  const unit = members.get('unit');
  const policies = members.get('policies');
  if (members.get('unlimited')?.boolean('unlimited') === true) {
    (unit ?? policies)?.fault('an unlimited descriptor must not have a unit or policies');
    return { ...rest, ...UNCOUNTED, kind: 'unlimited', rate: undefined };
  }
  if (policies !== undefined) {
    unit?.fault('rate_limit must have either a unit or policies, not both');
    const read = readPolicies(policies);
    if (read === undefined) return undefined;
    const text = showPolicies(policies);
    return { ...rest, kind: 'rate', rate: undefined, text, policies: read, mode: 'whole' };
  }
  const rate = readRate(value, members);
  return rate && { ...rest, ...limitOf(rate) };
}

const UNCOUNTED = { text: undefined, policies: undefined, mode: 'always' } as const;

/** Converts a rate to a limit. A rate of 0 requests denies everything, so it needs no counting. */
export function limitOf(rate: Rate): Omit<RuleLimit, 'name' | 'replaces'> {
  const { requestsPerUnit: limit, unit, multiplier } = rate;
  if (limit === 0) return { ...UNCOUNTED, kind: 'blocked', rate };
  const policies = makePolicy('fixed-window', { limit, per: UNITS[unit] * multiplier });
  return { kind: 'rate', rate, text: undefined, policies, mode: 'always' };
}

export function labelWord(key: string, value: string | undefined): string {
  return value === undefined ? key : `${key}_${value}`;
}

export function unitOf(text: string): Unit | undefined {
  const unit = text.toLowerCase();
  return Object.hasOwn(UNITS, unit) ? (unit as Unit) : undefined;
}

function readRate(value: Value, members: Map<string, Value>): Rate | undefined {
  const unitAt = members.get('unit');
  const requests = members.get('requests_per_unit');
  const times = members.get('unit_multiplier');
  if (unitAt === undefined) return value.fault("rate_limit must have 'unit', 'unlimited' or 'policies'");
  const text = unitAt.text('unit');
  const unit = text === undefined ? undefined : unitOf(text);
  if (text !== undefined && unit === undefined)
    unitAt.fault(`unit must be one of ${Object.keys(UNITS).join(', ')}; got ${unitAt.kind}`);
  if (requests === undefined) return value.fault('rate_limit requires requests_per_unit');
  const requestsPerUnit = requests.integer('requests_per_unit', 0, UINT32);
  const multiplier = times === undefined ? 1 : times.integer('unit_multiplier', 1, UINT32);
  if (unit === undefined || requestsPerUnit === undefined || multiplier === undefined) return undefined;
  return { requestsPerUnit, unit, multiplier };
}

function readReplaces(value: Value | undefined, own: string | undefined): string[] {
  if (value === undefined || value.isEmpty) return [];
  return value.list('replaces').flatMap((item) => {
    const member = item.members('replaces', ['name']).get('name');
    const name = member?.text('name');
    if (name === undefined || name === '') return item.fault("an entry of 'replaces' must have a name") ?? [];
    if (name === own) return member?.fault('a limit cannot replace itself') ?? [];
    return [name];
  });
}
