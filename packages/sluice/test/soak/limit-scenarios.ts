/** Scenarios in real time on a store with faults: no more units may pass than the bound allows, and no caller may hang. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  type MaybePromise,
  type Policies,
  type Reservation,
  slidingLog,
  type Store,
  StoreUnavailable,
  tokenBucket,
} from '../../src/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { Ledger, type Instant, instant, type Loss, steadily, steady } from './ledger.ts';
import { type Backend, type Scenario, type Run, stopwatch } from './scenario.ts';
import type { Draw } from './fault-injection.ts';

/** Milliseconds after which a check counts as hung: far longer than any deadline, even on a busy machine. */
const HUNG_AFTER = 5000;
const NODES = 4;
const LANES = 2;

export interface BoundOptions {
  readonly scenario: string;
  /** The size of the burst, and the number of units per second. */
  readonly limit: number;
  /** The greatest cost; default a tenth of the limit. */
  readonly largest?: number;
  readonly wrap?: (store: Store<Promise<Decision>>, run: Run) => Store;
  /** When the store lost its rows, if another backend's fault injector causes the losses. */
  readonly losses?: readonly Loss[];
  /** Whether the store decides by the steady clock. */
  readonly isSteady?: boolean;
  /** The longest pause of a client, in milliseconds; default 30. Scenarios share this process, so none may starve the others. */
  readonly pause?: number;
  /** Whether the scenario makes no reservations. */
  readonly isWithoutReservations?: boolean;
  /** The deadline of a check in milliseconds; default 200. */
  readonly deadline?: number;
  /** How long a node may hold units, in milliseconds. */
  readonly kept?: number;
  /** By how many milliseconds the store's clock may lag. */
  readonly behind?: number;
}

/**
 * Each entry admits a burst of `limit` units and `limit` units per second. Policies combined with the rate only reduce what is
 * admitted.
 */
function policiesOf(limit: number): Readonly<Record<string, Policies>> {
  const rate = gcra({ limit, per: '1s' });
  return {
    gcra: rate,
    bucket: tokenBucket({ capacity: limit, refill: limit, every: '1s' }),
    several: {
      rate,
      log: slidingLog({ limit: 3 * limit, per: '2s', resolution: 20 }),
      day: fixedWindow({ limit: 1e9, per: '1d' }),
    },
  };
}

interface Asked {
  readonly asked: Instant;
  readonly told: Instant;
}

/**
 * Several nodes with several clients each, on a few keys of two kinds: with reservations, or with refunds. A reservation relies
 * on the units that were charged before it, so the bound would not hold if these units were refunded.
 */
export function staysWithinLimit(backend: Backend, options: BoundOptions): Scenario {
  const {
    scenario,
    limit,
    largest = limit / 10,
    wrap = (store) => store,
    kept = 0,
    behind = 0,
    deadline = 200,
    losses = backend.injector.losses,
    isSteady = false,
    isWithoutReservations = false,
    pause = 30,
  } = options;
  const clock = isSteady ? () => steadily(steady()) : instant;
  return async (run) => {
    const connections = Array.from({ length: NODES }, () => backend.connect());
    const stores = connections.map((connection) => wrap(connection.store({ deadline }), run));
    const tables = Object.entries(policiesOf(limit)).map(([name, policies]) => ({
      nodes: stores.map((store) => createLimiter(policies, { store, name: `${scenario} ${name}` })),
      ledgers: ['reserved', 'refunded'].map(
        () => new Ledger({ burst: limit, rate: limit / 1000, behind, kept, grain: 1 }),
      ),
    }));
    const lane = async (node: number, number: number): Promise<void> => {
      const draw = random(run.seed + 17 * node + 101 * number);
      while (!run.isOver()) {
        const { nodes, ledgers } = tables[draw(tables.length)];
        const kind = draw(2);
        const act = [isWithoutReservations ? takeOnly : takeOrReserve, takeAndRefund][kind];
        if (ledgers[kind].isFull) checkLedger(run, scenario, ledgers[kind], losses);
        // Several concurrent hits reach the limit even on a slow machine. Occasionally, many hits follow a pause.
        const isSurge = draw(20) === 0;
        if (isSurge) await sleep(draw(200));
        await Promise.all(
          Array.from({ length: isSurge ? 30 : 1 + draw(8) }, () => {
            const cost = 1 + draw(largest);
            const turn = { limiter: nodes[node], ledger: ledgers[kind], cost, run, scenario, draw, clock };
            return expectAnswer(run, scenario, () => act(turn));
          }),
        );
        await sleep(draw(pause));
      }
    };
    await Promise.all([
      ...stores.flatMap((_, node) => Array.from({ length: LANES }, (__, i) => lane(node, i))),
      blocks(run, scenario, tables[0].nodes[0], losses, behind, clock),
    ]);
    for (const { ledgers } of tables)
      for (const ledger of ledgers) checkLedger(run, scenario, ledger, losses);
    for (const store of stores) await store.close();
    for (const connection of connections) await connection.close();
  };
}

export type Take = Limiter<MaybePromise<Decision>>;

interface Turn {
  readonly limiter: Take;
  readonly ledger: Ledger;
  readonly cost: number;
  readonly run: Run;
  readonly scenario: string;
  readonly draw: Draw;
  readonly clock: () => Instant;
}

export function checkLedger(run: Run, scenario: string, ledger: Ledger, losses: readonly Loss[]): void {
  const excess = ledger.excess(losses);
  if (excess > 0) run.violation(scenario, `${excess} units above the bound`);
}

/** Makes a check, which must decide or fail with StoreUnavailable in time. */
export async function expectAnswer(run: Run, scenario: string, act: () => Promise<void>): Promise<void> {
  const began = steady();
  const took = stopwatch(run);
  try {
    await act();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) run.violation(scenario, String(error));
    run.unavailable(scenario, began);
    await sleep(20);
  }
  if (took() > HUNG_AFTER) run.violation(scenario, 'a check did not finish in time');
}

async function timed<T>(
  clock: () => Instant,
  act: () => MaybePromise<T>,
): Promise<Asked & { readonly answer: T }> {
  const asked = clock();
  const answer = await act();
  return { asked, told: clock(), answer };
}

/** A take, or a reservation up to 50 ms ahead. */
async function takeOrReserve(turn: Turn): Promise<void> {
  const { limiter, cost, draw } = turn;
  await record(turn, () =>
    draw(3) === 0 ? limiter.reserve('reserved', { cost, maxDelay: 50 }) : limiter.take('reserved', cost),
  );
}

const takeOnly = (turn: Turn): Promise<void> => record(turn, () => turn.limiter.take('reserved', turn.cost));

async function record(
  { ledger, cost, run, scenario, clock }: Turn,
  act: () => MaybePromise<Decision | Pick<Reservation, 'delay'>>,
): Promise<void> {
  const { asked, told, answer } = await timed(clock, act);
  run.checked(scenario);
  const delay = 'delay' in answer ? answer.delay : answer.allowed ? 0 : Infinity;
  if (delay === Infinity) run.denied(scenario);
  else ledger.add(asked, told, cost, delay);
}

/** Milliseconds within which a failed refund may still reach the store. */
const MAX_REFUND_DELAY = 10_000;

/** A take in any mode, which is refunded one time in four. */
async function takeAndRefund({ limiter, ledger, cost, run, scenario, draw, clock }: Turn): Promise<void> {
  // Mode 'always' is rare: it also charges denied hits, which would use up all units of the key.
  const mode = draw(16) === 0 ? 'always' : draw(3) === 0 ? 'partial' : 'whole';
  const { asked, told, answer } = await timed(clock, () => limiter.take('refunded', { cost, mode }));
  run.checked(scenario);
  if (!answer.allowed) run.denied(scenario);
  const passed = mode === 'partial' ? answer.taken : answer.allowed ? cost : 0;
  if (passed === 0) return;
  ledger.add(asked, told, passed);
  if (draw(4) !== 0) return;
  const began = steady();
  let ended = began + MAX_REFUND_DELAY;
  try {
    await limiter.refund('refunded', passed);
    ended = steady();
  } finally {
    ledger.giveBack(began, ended, passed);
  }
}

/** A blocked key must not admit a hit before the block ends, unless the store lost its rows. */
async function blocks(
  run: Run,
  scenario: string,
  limiter: Take,
  losses: readonly Loss[],
  behind: number,
  clock: () => Instant,
): Promise<void> {
  const BLOCKED_FOR = 300;
  for (let i = 0; !run.isOver(); i++) {
    await expectAnswer(run, scenario, async () => {
      const { asked, told } = await timed(clock, () => limiter.block(`blocked ${i % 3}`, BLOCKED_FOR));
      // The block lasts at least until this time, even if the clock was set during the call.
      const end = Math.min(asked.machine, told.machine - (told.steady - asked.steady)) + BLOCKED_FOR - behind;
      while (!run.isOver()) {
        const check = await timed(clock, () => limiter.take(`blocked ${i % 3}`));
        const latest = Math.max(
          check.told.machine,
          check.asked.machine + check.told.steady - check.asked.steady,
        );
        if (latest + 1 >= end) break;
        run.checked(scenario);
        if (!check.answer.allowed) run.denied(scenario);
        const isLost = losses.some(({ from, to }) => from <= check.told.steady && to >= asked.steady);
        if (check.answer.allowed && !isLost)
          run.violation(
            scenario,
            `a blocked key was admitted by ${check.answer.source}, ${end - latest} ms too early`,
          );
        await sleep(40);
      }
    });
    await sleep(100);
  }
}
