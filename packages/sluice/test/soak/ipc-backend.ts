/** Processes that meet at a socket. Now and then the one that serves is killed or stopped, and another is elected. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision, Store } from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { Book, steadily, steady } from './book.ts';
import { settle } from './bound-scenes.ts';
import { RowCount } from './row-scenes.ts';
import type { Backend, Scene } from './scene.ts';
import { type Draw, type Trouble, troubleBy } from './trouble.ts';

interface Member {
  readonly child: ChildProcess;
  /** When it has ended. */
  readonly gone: Promise<unknown>;
  /** Called when it has heard of the time, or never will. */
  heard: () => void;
}

interface Group {
  readonly path: string;
  readonly members: ReadonlySet<Member>;
  readonly trouble: Trouble;
  stop(): Promise<void>;
}

/** `greet`: what is said to a process before it counts as one of the group. */
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
      // Not those of the tests.
      execArgv: [],
    });
    child.on('error', () => {});
    const gone = new Promise((resolve) => child.once('exit', resolve));
    const member: Member = { child, gone, heard: () => {} };
    child.once('exit', () => {
      members.delete(member);
      member.heard();
    });
    child.on('message', (message) => {
      if (message === 'serves') serving = member;
      if (message === 'set') member.heard();
    });
    await once(child, 'message');
    await greet(member);
    members.add(member);
  }
  async function kill({ child, gone }: Member): Promise<void> {
    child.kill('SIGKILL');
    await gone;
  }
  /** Who serves, or another. */
  const someone = (draw: Draw, serves: boolean): Member => {
    if (serves && serving !== undefined && members.has(serving)) return serving;
    const others = [...members].filter((member) => member !== serving);
    return others[draw(others.length)];
  };
  for (let i = 0; i < size; i++) await add();

  return {
    path,
    members,
    trouble: troubleBy(
      (losing) => ({
        // Whoever is elected begins with an empty table.
        'server killed': {
          async act(draw) {
            await losing(() => kill(someone(draw, true)));
            await add();
          },
        },
        // Or the one that serves, if that is not known yet.
        'other killed': {
          async act(draw) {
            await losing(() => kill(someone(draw, false)));
            await add();
          },
        },
        'server stopped': {
          async act(draw) {
            const { child } = someone(draw, true);
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

/** Two processes, one of which serves by the scene's clock; this one only asks. */
export async function ipcBackend(): Promise<Backend> {
  let told = 0;
  const tell = (member: Member): Promise<void> =>
    new Promise((resolve) => {
      member.heard = resolve;
      member.child.send({ now: told });
    });
  const group = await groupOf(2, { deadline: 3000 }, tell);

  /** All hits of a tick wait for the same, and so go on in their order. */
  function following(
    clock: ManualClock | undefined,
    store: Store<Promise<Decision>>,
  ): Store<Promise<Decision>> {
    let telling: Promise<unknown> = Promise.resolve();
    return {
      ...store,
      async apply(hit) {
        const now = clock?.now() ?? 0;
        if (now !== told) {
          told = now;
          telling = Promise.all([...group.members].map(tell));
        }
        await telling;
        return store.apply(hit);
      },
    };
  }
  return {
    name: 'ipc',
    isInOrder: true,
    trouble: group.trouble,
    connect: () => ({
      store: ({ clock, deadline }) =>
        following(clock, ipc({ onFailure: 'throw', path: group.path, serve: false, deadline })),
      close: () => {},
    }),
    rows: async () => 0,
    stop: () => group.stop(),
  };
}

/** Limiter, when it was asked and when told, units. */
type Units = readonly [name: 'gcra' | 'several', asked: number, told: number, units: number];

interface News {
  readonly passed: readonly Units[];
  readonly given: readonly Units[];
  readonly wrong: readonly string[];
  readonly rows: number;
  readonly checked: number;
  readonly denied: number;
  /** When they were asked. */
  readonly unavailable: readonly number[];
  readonly made: number;
}

export interface Processes {
  readonly trouble: Trouble;
  readonly scene: Scene;
  stop(): Promise<void>;
}

/** Three processes that check by the real time, one of which decides for all. */
export async function ipcProcesses(): Promise<Processes> {
  const LIMIT = 200;
  const scene = 'ipc: never over';
  const books = { gcra: bookOf(LIMIT), several: bookOf(LIMIT) };
  const made = new RowCount();
  let hear: (news: News) => void = () => {};
  const group = await groupOf(3, { deadline: 200, limit: LIMIT }, async ({ child }) => {
    child.on('message', (news) => {
      if (typeof news === 'object') hear(news as News);
    });
  });
  const { losses } = group.trouble;
  return {
    trouble: group.trouble,
    stop: () => group.stop(),
    async scene(stage) {
      hear = ({ passed, given, wrong, rows, checked, denied, unavailable, made: count }) => {
        for (const [name, asked, told, units] of passed) {
          if (books[name].isFull) settle(stage, scene, books[name], losses);
          books[name].add(steadily(asked), steadily(told), units);
        }
        for (const [name, asked, told, units] of given) books[name].giveBack(asked, told, units);
        for (const what of wrong) stage.wrong(scene, what);
        stage.checked(scene, checked);
        stage.denied(scene, denied);
        for (const asked of unavailable) stage.unavailable(scene, asked);
        made.add(steady(), count);
        if (rows > 0) stage.rows(scene, rows, made.mostAt(steady()));
      };
      while (!stage.isOver()) await sleep(50);
      for (const book of Object.values(books)) settle(stage, scene, book, losses);
    },
  };
}

/** To start a process takes a while. */
const PAUSE = 1200;
/** A process tells of thirty checks at a time. */
const bookOf = (limit: number): Book => new Book({ burst: limit, rate: limit / 1000, late: 5000 });
