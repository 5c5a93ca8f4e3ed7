/** Creates a link that opens a limit of the server in the playground. */
import { type Part, read } from '../model/policy.ts';
import { TRAFFIC, toQuery } from '../model/state.ts';

/** The playground ignores longer texts. */
const MAX_TEXT = 200;
const MAX_REQUESTS = 600;

/** Returns undefined if the playground cannot show the policies, such as those of a limit that is unlimited. */
export function tryLink(policies: string): string | undefined {
  const text = withoutNames(fromEnvoy(policies) ?? policies);
  const parts = text.length > MAX_TEXT ? [] : partsOf(text);
  // The traffic is slightly too fast for the policy with the shortest window, because such traffic shows the most.
  const [first] = parts.filter(({ limit }) => limit < Infinity).sort((a, b) => a.per - b.per);
  if (first === undefined) return undefined;
  const round = (value: number) => Number(value.toPrecision(2));
  const rate = Math.min(1000, Math.max(0.01, round((1500 * first.limit) / first.per)));
  const length = Math.min(86_400_000, Math.max(5000, Math.min(4 * first.per, (MAX_REQUESTS * 1000) / rate)));
  const traffic = { ...TRAFFIC.poisson, rate, length: Math.round(round(length)) };
  return `#playground?${toQuery({ limits: [text], costs: [[]], traffic, patience: 0 })}`;
}

function partsOf(text: string): readonly Part[] {
  const reading = read(text);
  return reading.mistake === undefined ? reading.parts : [];
}

/** Removes the names of policies, which the playground does not have: `fast: 10/s & slow: 100/h`. */
function withoutNames(policies: string): string {
  return policies.replace(/(^|&\s*)[\w-]+:\s+(?=[^{}&]*(?:\{[^{}]*\})?\s*(?:&|$))/g, '$1');
}

/** Converts the rate of an Envoy descriptor, such as '10 per second' or '5 per 2 hours'. */
function fromEnvoy(policies: string): string | undefined {
  const [, limit, times = '', unit] = /^(\d+) per (?:(\d+) )?([a-z]+?)s?$/.exec(policies) ?? [];
  const short =
    unit && { second: 's', minute: 'min', hour: 'h', day: 'day', month: 'month', year: 'year' }[unit];
  return short === undefined || short === '' ? undefined : `${limit}/${times}${short} fixed-window`;
}
