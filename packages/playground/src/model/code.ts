/** The same limits and numbers as code: for a program, a server's configuration, the command line. */
import { spanText } from './format.ts';
import { type AlgorithmName, type Part, read } from './policy.ts';
import type { State } from './state.ts';
import type { Traffic, TrafficKind } from './traffic.ts';

export const LANGUAGES = ['TypeScript', 'YAML', 'CLI'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The log that was dropped on the page: its name, and what tells its callers apart. */
export interface Recorded {
  readonly name: string;
  readonly by: string | undefined;
}

export function codeOf(language: Language, state: State, log?: Recorded): string {
  return { TypeScript: typescript, YAML: yaml, CLI: commands }[language](state, log);
}

const FACTORIES: Readonly<Record<AlgorithmName, string>> = {
  gcra: 'gcra',
  'token-bucket': 'tokenBucket',
  'leaky-bucket': 'leakyBucket',
  'fixed-window': 'fixedWindow',
  'sliding-window': 'slidingWindow',
  'sliding-log': 'slidingLog',
  pacer: 'pacer',
};

function typescript({ limits }: State): string {
  const lanes = limits.map(partsOf);
  const factories = [...new Set(lanes.flat().map(({ algorithm }) => FACTORIES[algorithm]))];
  const names = ['createLimiter', ...factories].sort((a, b) => a.localeCompare(b));
  const makes = lanes.map((parts, i) => {
    const calls = parts.map(call);
    const policies = calls.length === 1 ? calls[0] : `[\n  ${calls.join(',\n  ')},\n]`;
    return `const ${variable(lanes.length, i)} = createLimiter(${policies});`;
  });
  return [
    `import { ${names.join(', ')} } from 'sluice';`,
    '',
    ...makes,
    '',
    `const decision = ${variable(lanes.length, 0)}.take('alice');`,
    "if (!decision.allowed) console.log('again in', decision.retryAfter, 'ms');",
    '',
  ].join('\n');
}

function variable(count: number, index: number): string {
  return count === 1 ? 'limiter' : `limiter${index + 1}`;
}

function call({ algorithm, limit, span, per, burst }: Part): string {
  const options: Record<string, number | string | undefined> = {
    gcra: { limit, per: span, burst },
    'token-bucket': { capacity: burst ?? limit, refill: limit, every: span },
    'leaky-bucket': { size: burst ?? limit, dripRate: per / limit },
    'fixed-window': span === 'month' || span === 'year' ? { limit, align: span } : { limit, per: span },
    'sliding-window': { limit, per: span },
    'sliding-log': { limit, per: span },
    pacer: { limit, per: span, maxBurst: burst },
  }[algorithm];
  const members = Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? `'${value}'` : value}`);
  return `${FACTORIES[algorithm]}({ ${members.join(', ')} })`;
}

function yaml({ limits }: State): string {
  const lines = limits.map((text, i) => `  ${nameOf(limits, i)}: ${clean(text)}`);
  return ['limits:', ...lines, ''].join('\n');
}

/** Named by what they are, so that a person knows them again. */
function nameOf(limits: readonly string[], index: number): string {
  const names = limits.map((text) => partsOf(text)[0]?.algorithm ?? 'limit');
  const twins = names.slice(0, index).filter((name) => name === names[index]).length;
  return limits.length === 1 ? 'api' : twins === 0 ? names[index] : `${names[index]}-${twins + 1}`;
}

/** Traffic that the command can make itself, or else a file of it. */
function commands({ limits, traffic, patience }: State, log?: Recorded): string {
  const { kind, rate, size, every, length, seed } = traffic;
  const made: Partial<Record<TrafficKind, string>> = {
    steady: `steady:${rate}/s`,
    poisson: `poisson:${rate}/s --seed ${seed}`,
    bursts: `burst:${size}@${spanText(every)}`,
  };
  const note = patience > 0 ? ['# on the page denied requests wait; here they leave'] : [];
  const spec = made[kind];
  if (spec !== undefined)
    return lines([
      ...note,
      ...limits.map((text) => `sluice simulate '${clean(text)}' --traffic ${spec} --for ${spanText(length)}`),
    ]);
  const file = kind === 'log' ? (log?.name ?? 'access.log') : TRAFFIC_FILE;
  const by = kind === 'log' && log?.by !== undefined ? ` --by ${log.by}` : '';
  return lines([...note, ...limits.map((text) => `sluice replay ${file} --policy '${clean(text)}'${by}`)]);
}

export const TRAFFIC_FILE = 'traffic.log';

/** A line per request, `seconds key`: what `sluice replay` and this page read. */
export function fileOf({ origin, times, keys, names }: Traffic): string {
  const rows: string[] = [];
  for (let i = 0; i < times.length; i++)
    rows.push(`${(origin + times[i]) / 1000} ${names[keys[i]].replace(/\s+/g, '_')}`);
  return lines(rows);
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}

function clean(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}

function partsOf(text: string): readonly Part[] {
  const reading = read(text);
  return reading.mistake === undefined ? reading.parts : [];
}
