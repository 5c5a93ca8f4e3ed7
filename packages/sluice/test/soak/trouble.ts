/** What happens to a store while it is asked: one fault at a time, all kinds of them, in another order each round. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleman } from '../stores/redis/proxy.ts';
import { type Loss, steady } from './book.ts';

/** Milliseconds. In a long soak, after some faults there is a rest: everything must be well then. */
const [LONG, REST] = [30_000, 4000];

export type Draw = (below: number) => number;

export interface Fault {
  /** Milliseconds that it needs at most, on a machine that is not busy; default 1500. */
  readonly needs?: number;
  act(draw: Draw): Promise<unknown>;
}

export type Faults = Readonly<Record<string, Fault>>;

export interface Trouble {
  /** Whenever the store lost what it knew. */
  readonly losses: readonly Loss[];
  /** Another number after each loss; odd while one happens. */
  readonly epoch: number;
  readonly counts: Readonly<Record<string, number>>;
  /** The fault that is under way. */
  readonly doing: string | undefined;
  /** When the last fault ended, by the steady clock; Infinity while one is under way. */
  readonly calmSince: number;
  /** Makes faults, with a pause after each, as long as there is time `left` for one, in milliseconds. */
  make(draw: Draw, left: () => number): Promise<void>;
}

/** Faults that lose what the store knew do it within `losing`. `pause`: milliseconds after each, and up to twice as many. */
export function troubleBy(faultsOf: (losing: Losing) => Faults, pause = 400): Trouble {
  const losses: Loss[] = [];
  const counts: Record<string, number> = {};
  let doing: string | undefined;
  let calmSince = -Infinity;
  const faults = faultsOf(async (act) => {
    const loss = { from: steady(), to: Infinity };
    losses.push(loss);
    await act();
    loss.to = steady();
  });
  return {
    losses,
    get epoch() {
      return 2 * losses.length - (losses.at(-1)?.to === Infinity ? 1 : 0);
    },
    counts,
    get doing() {
      return doing;
    },
    get calmSince() {
      return calmSince;
    },
    async make(draw, left) {
      for (let round: string[] = []; ; ) {
        if (round.length === 0) round = Object.keys(faults);
        const [name = ''] = round.splice(draw(round.length), 1);
        const { needs = 1500 } = faults[name];
        // The rest of the round may be shorter.
        if (left() < needs && round.length > 0) continue;
        if (left() < needs) return;
        doing = name;
        calmSince = Infinity;
        await faults[name].act(draw);
        doing = undefined;
        calmSince = steady();
        counts[name] = (counts[name] ?? 0) + 1;
        await sleep(pause + draw(pause));
        if (left() > LONG && draw(4) === 0) await sleep(REST);
      }
    },
  };
}

/** Looks again and again, for so many milliseconds at most: whether it came true. What cannot be asked is not true. */
export async function comesTrue(condition: () => Promise<boolean>, within: number): Promise<boolean> {
  for (const start = performance.now(); performance.now() - start < within; await sleep(20))
    if (await condition().catch(() => false)) return true;
  return false;
}

export type Losing = (act: () => Promise<unknown>) => Promise<void>;

export function networkFaults(network: Middleman): Faults {
  return {
    latency: {
      async act(draw) {
        network.latency = 5 + draw(60);
        await sleep(500 + draw(500));
        network.latency = 0;
      },
    },
    'lost replies': {
      async act(draw) {
        network.loss = 0.02;
        await sleep(500 + draw(500));
        network.loss = 0;
      },
    },
    silence: {
      async act(draw) {
        network.mute = true;
        await sleep(100 + draw(300));
        network.mute = false;
        network.cut();
      },
    },
    cut: { act: async () => network.cut() },
  };
}
