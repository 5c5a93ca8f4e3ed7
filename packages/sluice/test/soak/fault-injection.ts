/**
 * Injects faults into a store while scenarios use it. Each round injects every kind of fault, one at a time and in a random
 * order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Middleman } from '../stores/redis/proxy.ts';
import { type Loss, steady } from './ledger.ts';

/** Milliseconds. If more than LONG is left, some faults are followed by a fault-free period, in which the store must be available. */
const [LONG, FAULT_FREE_PERIOD] = [30_000, 4000];

export type Draw = (below: number) => number;

export interface Fault {
  /** Milliseconds that the fault takes at most, on an idle machine; default 1500. */
  readonly needs?: number;
  inject(draw: Draw): Promise<unknown>;
}

export type Faults = Readonly<Record<string, Fault>>;

export interface FaultInjector {
  /** When the store lost its rows. */
  readonly losses: readonly Loss[];
  /** Changes with each loss; odd while a loss is happening. */
  readonly epoch: number;
  readonly counts: Readonly<Record<string, number>>;
  /** The fault that is being injected. */
  readonly active: string | undefined;
  /** When the last fault ended, by the steady clock; Infinity during a fault. */
  readonly faultFreeSince: number;
  /** Injects faults, with a pause after each, until `left` returns too few milliseconds. */
  run(draw: Draw, left: () => number): Promise<void>;
}

/**
 * Creates an injector. A fault that loses rows calls `losing` around the part that loses them. `pause` is the minimum number of
 * milliseconds after each fault; the maximum is twice that.
 */
export function faultInjector(faultsOf: (losing: Losing) => Faults, pause = 400): FaultInjector {
  const losses: Loss[] = [];
  const counts: Record<string, number> = {};
  let active: string | undefined;
  let faultFreeSince = -Infinity;
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
    get active() {
      return active;
    },
    get faultFreeSince() {
      return faultFreeSince;
    },
    async run(draw, left) {
      for (let round: string[] = []; ; ) {
        if (round.length === 0) round = Object.keys(faults);
        const [name = ''] = round.splice(draw(round.length), 1);
        const { needs = 1500 } = faults[name];
        // Another fault of this round may take less time.
        if (left() < needs && round.length > 0) continue;
        if (left() < needs) return;
        active = name;
        faultFreeSince = Infinity;
        await faults[name].inject(draw);
        active = undefined;
        faultFreeSince = steady();
        counts[name] = (counts[name] ?? 0) + 1;
        await sleep(pause + draw(pause));
        if (left() > LONG && draw(4) === 0) await sleep(FAULT_FREE_PERIOD);
      }
    },
  };
}

/** Polls a condition for at most `within` milliseconds. Returns whether it became true; a failed poll counts as false. */
export async function becomesTrue(condition: () => Promise<boolean>, within: number): Promise<boolean> {
  for (const start = performance.now(); performance.now() - start < within; await sleep(20))
    if (await condition().catch(() => false)) return true;
  return false;
}

export type Losing = (act: () => Promise<unknown>) => Promise<void>;

export function networkFaults(network: Middleman): Faults {
  return {
    latency: {
      async inject(draw) {
        network.latency = 5 + draw(60);
        await sleep(500 + draw(500));
        network.latency = 0;
      },
    },
    'lost replies': {
      async inject(draw) {
        network.loss = 0.02;
        await sleep(500 + draw(500));
        network.loss = 0;
      },
    },
    silence: {
      async inject(draw) {
        network.mute = true;
        await sleep(100 + draw(300));
        network.mute = false;
        network.cut();
      },
    },
    cut: { inject: async () => network.cut() },
  };
}
