/**
 * Processes that share limits over a socket. The serving process is sometimes killed or stopped, and another process is
 * elected.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision, Store } from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { Ledger, steadily, steady } from './ledger.ts';
import { checkLedger } from './limit-scenarios.ts';
import { RowCount } from './row-scenarios.ts';
import type { Backend, Scenario } from './scenario.ts';
import { type Draw, type FaultInjector, faultInjector } from './fault-injection.ts';

interface Member {
  readonly child: ChildProcess;
  /** Resolves when the process has ended. */
  readonly gone: Promise<unknown>;
  /** Called when the process has received the time, or has ended. */
  timeReceived: () => void;
}

interface Group {
  readonly path: string;
  readonly members: ReadonlySet<Member>;
  readonly injector: FaultInjector;
  stop(): Promise<void>;
}

/** `greet` is called with a new process before it becomes a member of the group. */
async function groupOf(
  size: number,
  options: { deadline: number; limit?: number },
  greet: (member: Member) => Promise<unknown>,
): Promise<Group> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-soak-'));
  const path = join(folder, 'limits.sock');
  const members = new Set<Member>();
  let serving: Member | undefined;

  async function add(): Promise<void> {
    const child = fork(new URL('./ipc-process.mjs', import.meta.url), {
      env: { ...process.env, IPC: JSON.stringify({ path, ...options }) },
      // The flags of the test process do not apply to this process.
      execArgv: [],
    });
    child.on('error', () => {});
    const gone = new Promise((resolve) => child.once('exit', resolve));
    const member: Member = { child, gone, timeReceived: () => {} };
    child.once('exit', () => {
      members.delete(member);
      member.timeReceived();
    });
    child.on('message', (message) => {
      if (message === 'serves') serving = member;
      if (message === 'set') member.timeReceived();
    });
    await once(child, 'message');
    await greet(member);
    members.add(member);
  }
  async function kill({ child, gone }: Member): Promise<void> {
    child.kill('SIGKILL');
    await gone;
  }
  /** The serving process if `serves` is true and it is known; otherwise a random other process. */
  const someMember = (draw: Draw, serves: boolean): Member => {
    if (serves && serving !== undefined && members.has(serving)) return serving;
    const others = [...members].filter((member) => member !== serving);
    return others[draw(others.length)];
  };
  for (let i = 0; i < size; i++) await add();

  return {
    path,
    members,
    injector: faultInjector(
      (losing) => ({
        // The newly elected process starts with an empty table, because a store that wraps memory() has no state file.
        'server killed': {
          async inject(draw) {
            await losing(() => kill(someMember(draw, true)));
            await add();
          },
        },
        // This may kill the serving process, if it is not known yet which process serves.
        'other killed': {
          async inject(draw) {
            await losing(() => kill(someMember(draw, false)));
            await add();
          },
        },
        'server stopped': {
          async inject(draw) {
            const { child } = someMember(draw, true);
            child.kill('SIGSTOP');
            await sleep(100 + draw(500));
            child.kill('SIGCONT');
          },
        },
      }),
      PAUSE,
    ),
    async stop() {
      await Promise.all([...members].map(kill));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Two processes, one of which serves by the scenario's clock. This process is a client only. */
export async function ipcBackend(): Promise<Backend> {
  let sentTime = 0;
  const sendTime = (member: Member): Promise<void> =>
    new Promise((resolve) => {
      member.timeReceived = resolve;
      member.child.send({ now: sentTime });
    });
  const group = await groupOf(2, { deadline: 3000 }, sendTime);

  /** All hits of a tick wait for the same promise, so they stay in order. */
  function withClock(
    clock: ManualClock | undefined,
    store: Store<Promise<Decision>>,
  ): Store<Promise<Decision>> {
    let sending: Promise<unknown> = Promise.resolve();
    return {
      ...store,
      async apply(hit) {
        const now = clock?.now() ?? 0;
        if (now !== sentTime) {
          sentTime = now;
          sending = Promise.all([...group.members].map(sendTime));
        }
        await sending;
        return store.apply(hit);
      },
    };
  }
  return {
    name: 'ipc',
    isInOrder: true,
    injector: group.injector,
    connect: () => ({
      store: ({ clock, deadline }) =>
        withClock(clock, ipc({ onFailure: 'throw', path: group.path, serve: false, deadline })),
      close: () => {},
    }),
    rows: async () => 0,
    stop: () => group.stop(),
  };
}

/** The limiter, the time of the call, the time of its answer, and the units. */
type Units = readonly [name: 'gcra' | 'several', asked: number, told: number, units: number];

/** The report of a process. */
interface Report {
  readonly passed: readonly Units[];
  readonly given: readonly Units[];
  readonly violations: readonly string[];
  readonly rows: number;
  readonly checked: number;
  readonly denied: number;
  /** When the checks that failed were made. */
  readonly unavailable: readonly number[];
  /** Keys that were used for the first time. */
  readonly created: number;
}

export interface Processes {
  readonly injector: FaultInjector;
  readonly scenario: Scenario;
  stop(): Promise<void>;
}

/** Three processes that check in real time, one of which serves the others. */
export async function ipcProcesses(): Promise<Processes> {
  const LIMIT = 200;
  const scenario = 'ipc: within the limit';
  const ledgers = { gcra: ledgerOf(LIMIT), several: ledgerOf(LIMIT) };
  const createdRows = new RowCount();
  let receive: (report: Report) => void = () => {};
  const group = await groupOf(3, { deadline: 200, limit: LIMIT }, async ({ child }) => {
    child.on('message', (report) => {
      if (typeof report === 'object') receive(report as Report);
    });
  });
  const { losses } = group.injector;
  return {
    injector: group.injector,
    stop: () => group.stop(),
    async scenario(run) {
      receive = ({ passed, given, violations, rows, checked, denied, unavailable, created: count }) => {
        for (const [name, asked, told, units] of passed) {
          if (ledgers[name].isFull) checkLedger(run, scenario, ledgers[name], losses);
          ledgers[name].add(steadily(asked), steadily(told), units);
        }
        for (const [name, asked, told, units] of given) ledgers[name].giveBack(asked, told, units);
        for (const what of violations) run.violation(scenario, what);
        run.checked(scenario, checked);
        run.denied(scenario, denied);
        for (const asked of unavailable) run.unavailable(scenario, asked);
        createdRows.add(steady(), count);
        if (rows > 0) run.rows(scenario, rows, createdRows.mostAt(steady()));
      };
      while (!run.isOver()) await sleep(50);
      for (const ledger of Object.values(ledgers)) checkLedger(run, scenario, ledger, losses);
    },
  };
}

/** Milliseconds between faults, because it takes a while to start a process. */
const PAUSE = 1200;
/** A process reports thirty checks at a time, so it may report late. */
const ledgerOf = (limit: number): Ledger => new Ledger({ burst: limit, rate: limit / 1000, late: 5000 });
