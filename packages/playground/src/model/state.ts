/** Stores the state of the playground in the URL fragment of a link, which browsers never send to a server. */
import type { Millis } from 'sluice';
import { type Costs, readCosts } from './costs.ts';
import { KINDS, type TrafficKind, type TrafficOptions } from './traffic.ts';

export interface State {
  readonly limits: readonly string[];
  /** The costs for each limit, in the same order. */
  readonly costs: readonly Costs[];
  readonly traffic: TrafficOptions;
  readonly patience: Millis;
}

export const MOST_LANES = 4;

/** The default options for each kind of traffic. */
export const TRAFFIC: Readonly<Record<TrafficKind, TrafficOptions>> = {
  edge: { kind: 'edge', rate: 2, size: 10, every: 10_000, length: 40_000, seed: 1 },
  steady: { kind: 'steady', rate: 2, size: 10, every: 10_000, length: 40_000, seed: 1 },
  bursts: { kind: 'bursts', rate: 2, size: 8, every: 4000, length: 40_000, seed: 1 },
  poisson: { kind: 'poisson', rate: 1.5, size: 10, every: 10_000, length: 60_000, seed: 1 },
  rogue: { kind: 'rogue', rate: 0.5, size: 5, every: 10_000, length: 60_000, seed: 1 },
  log: { kind: 'log', rate: 2, size: 10, every: 10_000, length: 60_000, seed: 1 },
};

/** The initial state: the same limit in three algorithms. */
export const FIRST: State = {
  limits: ['10/10s fixed-window', '10/10s sliding-log', '10/10s burst 3'],
  costs: [[], [], []],
  traffic: TRAFFIC.edge,
  patience: 0,
};

const NUMBERS = {
  rate: [0.01, 100_000],
  size: [1, 100_000],
  every: [1, 86_400_000],
  length: [100, 86_400_000],
  seed: [0, 2 ** 32 - 1],
} as const;

export function toQuery({ limits, costs, traffic, patience }: State): string {
  const query = new URLSearchParams();
  for (const [i, text] of limits.entries()) {
    query.append('limit', text);
    const own = costs.at(i) ?? [];
    if (own.length > 0) query.append('cost', own.join(','));
  }
  query.set('traffic', traffic.kind);
  for (const name of Object.keys(NUMBERS) as (keyof typeof NUMBERS)[])
    if (traffic[name] !== TRAFFIC[traffic.kind][name]) query.set(name, String(traffic[name]));
  if (patience > 0) query.set('patience', String(patience));
  return query.toString();
}

/** Parses a link, which may come from anyone. Missing or invalid parts get their defaults. */
export function fromQuery(text: string): State {
  const query = new URLSearchParams(text);
  const lanes = lanesIn(query).slice(0, MOST_LANES);
  const kind = KINDS.find((one) => one === query.get('traffic')) ?? FIRST.traffic.kind;
  const traffic: Record<string, unknown> = { ...TRAFFIC[kind] };
  for (const [name, [least, most]] of Object.entries(NUMBERS)) {
    const value = Number(query.get(name) ?? Number.NaN);
    if (value >= least && value <= most) traffic[name] = value;
  }
  const patience = Number(query.get('patience') ?? 0);
  return {
    limits: lanes.length > 0 ? lanes.map(({ limit }) => limit.slice(0, 200)) : FIRST.limits,
    costs: lanes.length > 0 ? lanes.map(({ costs }) => costs) : FIRST.costs,
    traffic: traffic as unknown as TrafficOptions,
    patience: patience > 0 && patience <= 86_400_000 ? patience : 0,
  };
}

/** The limits of a link. A cost belongs to the limit before it. */
function lanesIn(query: URLSearchParams): { readonly limit: string; costs: Costs }[] {
  const lanes: { readonly limit: string; costs: Costs }[] = [];
  for (const [name, value] of query) {
    const last = lanes.at(-1);
    if (name === 'limit') lanes.push({ limit: value, costs: [] });
    else if (name === 'cost' && last !== undefined) last.costs = readCosts(value);
  }
  return lanes;
}
