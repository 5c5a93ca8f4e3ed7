/** Records a server's requests: which were charged, how each was settled, and whether places are still held. */
import type { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import type { Outcome } from '../../../src/http/index.ts';
import { concurrency, createLimiter } from '../../../src/index.ts';
import type { Answer, AnyServer, App } from './apps.ts';

/** A behavior to check. `run` rejects if the middleware does not have this behavior. */
export interface Claim {
  readonly name: string;
  run(): Promise<void>;
}

const SLOTS = 100_000;

export interface Audit {
  readonly server: AnyServer;
  /** Ids of requests that were charged. */
  readonly charged: Set<string>;
  /** Paths of requests that reached the handler. */
  readonly handled: string[];
  /** The outcomes of each request, by id. Each request must have exactly one outcome. */
  readonly settled: Map<string, Outcome[]>;
  /** Makes all handlers at /wait, /paused and /stream respond. */
  release(): void;
  /** Waits until every charged request was settled, then throws unless each was settled once and every place is free. */
  balanced(): Promise<void>;
  close(): void;
}

/** `keyOf` may delay a request before it is charged. */
export async function audited(
  app: App,
  keyOf: (id: string) => Promise<void> | void = () => {},
): Promise<Audit> {
  const limiter = createLimiter(concurrency({ limit: SLOTS, lease: '1h' }));
  const [charged, settled, handled] = [new Set<string>(), new Map<string, Outcome[]>(), [] as string[]];
  const gate = aGate();
  const answer: Answer = async (path) => {
    handled.push(path);
    if (path === '/wait' || path === '/paused') await gate.opened;
    return path === '/stream' ? Readable.from(parts(gate.opened)) : `${path} answered`;
  };
  const server = await app.start(
    (idOf) => ({
      limiter,
      key: async (request) => {
        await keyOf(idOf(request));
        charged.add(idOf(request));
        return 'k';
      },
      settle: (request, outcome) => {
        const id = idOf(request);
        settled.set(id, [...(settled.get(id) ?? []), outcome]);
      },
    }),
    answer,
  );
  const held = (): number => SLOTS - limiter.peek('k').remaining;
  return {
    server,
    charged,
    handled,
    settled,
    release: gate.open,
    async balanced() {
      await until(
        () => settled.size === charged.size && held() === 0,
        () => `${charged.size} charged, ${settled.size} settled, ${held()} places held`,
      );
      // Waits for events that Node emits a little later, because one of them could settle a request twice.
      await new Promise((resolve) => setTimeout(resolve, 20));
      for (const [id, outcomes] of settled)
        if (outcomes.length !== 1) throw new Error(`${id} was settled ${outcomes.length} times`);
    },
    close() {
      gate.open();
      server.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
    },
  };
}

/** Yields more bytes than an HTTP/2 flow-control window or a stream's buffer holds, so that something is left to write. */
async function* parts(opened: Promise<void>): AsyncGenerator<Buffer> {
  yield Buffer.alloc(100_000);
  await opened;
  yield Buffer.from('end');
}

function aGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

export async function until(condition: () => boolean, found: () => string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`after 10 s: ${found()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** The number of listeners by event. */
export function listenersOf(emitter: EventEmitter): Record<string, number> {
  return Object.fromEntries(
    emitter.eventNames().map((event) => [String(event), emitter.listenerCount(event)]),
  );
}

export function same(actual: unknown, expected: unknown): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(`expected ${wanted}, got ${found}`);
}
