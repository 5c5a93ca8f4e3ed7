/** Converts limits to code for a program, a server's configuration, or the command line. */
import { KNOWN } from './algorithms.ts';
import { costByPolicy, costsFor, namesOf } from './costs.ts';
import { durationText } from './format.ts';
import type { Options } from './options-text.ts';
import { type Part, read } from './policy.ts';
import type { State } from './state.ts';
import type { Traffic, TrafficKind } from './traffic.ts';

export const LANGUAGES = ['TypeScript', 'YAML', 'CLI'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The log file that was dropped on the page: its name, and the field that identifies callers. */
export interface Recorded {
  readonly name: string;
  readonly by: string | undefined;
}

export function codeOf(language: Language, state: State, log?: Recorded): string {
  return { TypeScript: typescript, YAML: yaml, CLI: commands }[language](state, log);
}

function typescript(state: State): string {
  const { limits } = state;
  const lanes = limits.map(partsOf);
  const factories = [...new Set(lanes.flat().map(({ algorithm }) => KNOWN[algorithm].code))];
  const names = ['createLimiter', ...factories].sort((a, b) => a.localeCompare(b));
  const makes = lanes.map((parts, i) => {
    const cost = costIn(state, i);
    const names = cost === undefined ? [] : namesIn(limits[i]);
    const calls = parts.map((part, at) => (cost === undefined ? '' : `${quoted(names[at])}: `) + call(part));
    const [open, close] = cost === undefined ? '[]' : '{}';
    const policies = calls.length === 1 ? calls[0] : `${open}\n  ${calls.join(',\n  ')},\n${close}`;
    return `const ${variable(lanes.length, i)} = createLimiter(${policies});`;
  });
  const takes = limits.map((_, i) => `${variable(lanes.length, i)}.take('alice'${costOption(state, i)});`);
  return [
    `import { ${names.join(', ')} } from 'sluice';`,
    '',
    ...makes,
    '',
    `const decision = ${takes[0]}`,
    "if (!decision.allowed) console.log('retry in', decision.retryAfter, 'ms');",
    ...takes.filter((_, i) => i > 0 && costIn(state, i) !== undefined),
    '',
  ].join('\n');
}

/** The cost of a request by policy, or undefined if it is 1 in every policy. */
function costIn({ limits, costs }: State, index: number): Readonly<Record<string, number>> | undefined {
  const parts = partsOf(limits[index]);
  const own = costsFor(parts, costs.at(index) ?? []);
  if (own.length === 0) return undefined;
  const names = namesIn(limits[index]);
  return costByPolicy(
    parts.map(({ limit }, i) => ({ name: names[i], limit })),
    own,
  );
}

function costOption(state: State, index: number): string {
  const cost = costIn(state, index);
  if (cost === undefined) return '';
  const members = Object.entries(cost).map(([name, units]) => `${quoted(name)}: ${units}`);
  return `, { cost: { ${members.join(', ')} } }`;
}

/** The names that the policies have in the code. Costs refer to policies by these names. */
function namesIn(text: string): readonly string[] {
  return namesOf(isWithOptions(text) ? text : clean(text));
}

function quoted(name: string): string {
  return /['\\]/.test(name) ? JSON.stringify(name) : `'${name}'`;
}

function variable(count: number, index: number): string {
  return count === 1 ? 'limiter' : `limiter${index + 1}`;
}

function call(part: Part): string {
  const members = Object.entries(part.options ?? optionsOf(part)).map(
    ([name, value]) => `${name}: ${typeof value === 'string' ? `'${value}'` : value}`,
  );
  return `${KNOWN[part.algorithm].code}({ ${members.join(', ')} })`;
}

/** The options of the factory function for a policy with a rate. */
function optionsOf({ algorithm, limit, span, per, burst }: Part): Options {
  const extra = (name: string) => (burst === undefined ? {} : { [name]: burst });
  if (algorithm === 'token-bucket') return { capacity: burst ?? limit, refill: limit, every: span };
  if (algorithm === 'leaky-bucket') return { size: burst ?? limit, dripRate: per / limit };
  if (algorithm === 'pacer') return { limit, per: span, ...extra('maxBurst') };
  if (algorithm === 'fixed-window' && (span === 'month' || span === 'year')) return { limit, align: span };
  return { limit, per: span, ...extra('burst') };
}

function yaml(state: State): string {
  const { limits } = state;
  const costs = limits.map((_, i) => costIn(state, i));
  const entries = limits.map(
    (text, i) => `  ${nameOf(limits, i)}:${policiesInYaml(text, costs[i] !== undefined)}`,
  );
  const takes = costs.flatMap((cost, i) =>
    cost === undefined ? [] : [JSON.stringify({ limit: nameOf(limits, i), key: 'alice', cost })],
  );
  return lines(['limits:', ...entries, ...takes.map((body) => `# POST /v1/take ${body}`)]);
}

/**
 * Writes the policies of a limit as YAML. If `isNamed` is true, each policy is named by its text, because costs refer to policies
 * by name.
 */
function policiesInYaml(text: string, isNamed: boolean): string {
  if (!isWithOptions(text)) return ` ${clean(text)}`;
  const parts = partsOf(text);
  const pieces = text.split('&').map((piece, i) => policyInYaml(parts[i], piece));
  if (pieces.length === 1) return `\n    policies: ${pieces[0]}`;
  const names = namesIn(text);
  const bullet = (i: number) => (isNamed ? `${JSON.stringify(names[i])}:` : '-');
  return `\n    policies:${pieces.map((piece, i) => `\n      ${bullet(i)} ${piece}`).join('')}`;
}

function policyInYaml({ algorithm, options }: Part, text: string): string {
  if (options === undefined) return clean(text);
  const members = Object.entries({ algorithm, ...options }).map(([name, value]) => `${name}: ${value}`);
  return `{ ${members.join(', ')} }`;
}

/** Names each limit after its algorithm, so that users recognize it. */
function nameOf(limits: readonly string[], index: number): string {
  const names = limits.map((text) => partsOf(text)[0]?.algorithm ?? 'limit');
  const twins = names.slice(0, index).filter((name) => name === names[index]).length;
  return limits.length === 1 ? 'api' : twins === 0 ? names[index] : `${names[index]}-${twins + 1}`;
}

/**
 * Writes the `sluice` commands that try these limits. The commands generate the traffic if they can, and otherwise read it from a
 * file.
 */
function commands(state: State, log?: Recorded): string {
  const { limits, traffic, patience } = state;
  const { kind, rate, size, every, length, seed } = traffic;
  const made: Partial<Record<TrafficKind, string>> = {
    steady: `steady:${rate}/s`,
    poisson: `poisson:${rate}/s --seed ${seed}`,
    bursts: `burst:${size}@${durationText(every)}`,
  };
  const notes = [
    ...(patience > 0 ? ['# denied requests wait on the page, but not in these commands'] : []),
    ...(limits.some((_, i) => costIn(state, i) !== undefined)
      ? ['# requests have a cost for each policy on the page, but cost 1 in these commands']
      : []),
    ...(limits.some(isWithOptions) ? [`# ${CONFIG_FILE} contains the limits shown under YAML`] : []),
  ];
  /** How a command names a limit. The command line accepts rates, but policies with options must be in a file. */
  const which = (text: string, i: number, flag: string) =>
    isWithOptions(text)
      ? ` --config ${CONFIG_FILE} --limit ${nameOf(limits, i)}`
      : ` ${flag}'${clean(text)}'`;
  const spec = made[kind];
  if (spec !== undefined)
    return lines([
      ...notes,
      ...limits.map(
        (text, i) => `sluice simulate${which(text, i, '')} --traffic ${spec} --for ${durationText(length)}`,
      ),
    ]);
  const file = kind === 'log' ? (log?.name ?? 'access.log') : TRAFFIC_FILE;
  const by = kind === 'log' && log?.by !== undefined ? ` --by ${log.by}` : '';
  return lines([
    ...notes,
    ...limits.map((text, i) => `sluice replay ${file}${which(text, i, '--policy ')}${by}`),
  ]);
}

export const TRAFFIC_FILE = 'traffic.log';
const CONFIG_FILE = 'limits.yaml';

/** Writes traffic as a log with a line `seconds key` per request, a format that `sluice replay` and this page can read. */
export function fileOf({ origin, times, keys, names }: Traffic): string {
  const rows: string[] = [];
  for (let i = 0; i < times.length; i++)
    rows.push(`${(origin + times[i]) / 1000} ${names[keys[i]].replace(/\s+/g, '_')}`);
  return lines(rows);
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}

function isWithOptions(text: string): boolean {
  return text.includes('{');
}

function clean(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}

function partsOf(text: string): readonly Part[] {
  const reading = read(text);
  return reading.mistake === undefined ? reading.parts : [];
}
