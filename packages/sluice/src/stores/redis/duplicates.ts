/**
 * How to open another connection to the server of a client that the store was given: a duplicate of that client, with
 * the settings that the store needs. A duplicate never sends a command twice, and those of a single server never
 * reconnect: `reconnect.ts` opens the next one.
 */
import {
  type Client,
  type Connection,
  glide,
  ioredis,
  type Method,
  nodeRedis,
  nodeRedis3,
} from './connections.ts';

/** One duplicate, from its opening to its end. */
export interface Link {
  /** Resolves when commands can be sent; rejects if the connection could not be made. */
  readonly ready: Promise<Connection>;
  /** The most recent error that the duplicate reported apart from any command. */
  readonly error: Error | undefined;
  /** It can never be used again. */
  isEnded(): boolean;
  close(): unknown;
}

/** Where connections come from. */
export interface Source extends Pick<Connection, 'client' | 'cluster' | 'binary'> {
  open(): Link;
  /** Whether the client that was given has been closed by its owner. */
  isClosed(): boolean;
}

interface Emitter {
  on(event: string, listener: (argument?: unknown) => void): unknown;
}

const SILENT = (): void => {};

function method(client: Client, name: string): Method {
  return (client[name] as Method).bind(client);
}

/** What all duplicates have in common. `isEnded` and `close` say how this kind of client reports its end and is closed. */
function linkTo(
  own: Client,
  connection: Connection,
  connect: () => Promise<unknown>,
  isEnded: () => boolean,
  close: () => unknown,
): Link {
  let error: Error | undefined;
  let failed = false;
  (own as unknown as Emitter).on('error', (reported) => {
    // node-redis 3 reports that it gave up; its `origin` property holds the cause.
    error = (reported as { origin?: Error } | undefined)?.origin ?? (reported as Error);
  });
  const ready = connect().then(
    () => connection,
    (reason: Error) => {
      failed = true;
      throw error ?? reason;
    },
  );
  // The calls that wait for it are told.
  ready.catch(SILENT);
  return {
    ready,
    get error() {
      return error;
    },
    isEnded: () => failed || isEnded(),
    close() {
      failed = true;
      try {
        // Some clients reject, some throw, if there is nothing left to close.
        Promise.resolve(close()).catch(SILENT);
      } catch {}
    },
  };
}

/** Lets the process end although this connection is open. A caller who waits for an answer is held by its deadline. */
function unrefOnConnect(own: Client): void {
  (own as unknown as Emitter).on('connect', () =>
    (own['stream'] as { unref?(): void } | undefined)?.unref?.(),
  );
}

const never = (): null => null;

/** ioredis and iovalkey, single server or Sentinel. Everything else, such as `keyPrefix` or `tls`, is the client's. */
const IOREDIS = {
  retryStrategy: never,
  reconnectOnError: null,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  commandTimeout: undefined,
  lazyConnect: true,
  monitor: false,
};

/** Their clusters, which find the successor of a node by themselves. */
const IOREDIS_CLUSTER = {
  clusterRetryStrategy: never,
  retryDelayOnFailover: 0,
  slotsRefreshInterval: 1000,
  scaleReads: 'master',
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  lazyConnect: true,
};

export function ioredisSource(client: Client): Source {
  const { cluster, binary } = ioredis(client);
  const duplicate = client['duplicate'] as (...args: unknown[]) => Client;

  function open(): Link {
    // The database that select() chose later, if any.
    const { select } = (client['condition'] ?? {}) as { select?: number };
    const own = cluster
      ? duplicate.call(client, [], IOREDIS_CLUSTER)
      : duplicate.call(client, { ...IOREDIS, ...(select !== undefined && { db: select }) });
    unrefOnConnect(own);
    const isEnded = (): boolean => own['status'] === 'end';
    return linkTo(own, ioredis(own), method(own, 'connect'), isEnded, method(own, 'disconnect'));
  }
  // `manuallyClosing` is set by quit() and disconnect(), until the status is 'end'.
  const isClosed = (): boolean => client['status'] === 'end' || client['manuallyClosing'] === true;
  return { client, cluster, binary, open, isClosed };
}

/** node-redis 4 and later, all but pools, and but the Sentinel of node-redis 5. */
export function nodeRedisSource(client: Client): Source {
  const { cluster, binary } = nodeRedis(client);
  const isSentinel = 'getSentinelNode' in client;
  const isSingle = !cluster && !isSentinel;
  const duplicate = client['duplicate'] as (overrides: object) => Client;

  function overrides(): object {
    if (cluster) return { useReplicas: false };
    if (isSentinel) return { maxCommandRediscovers: 0 };
    const { socket } = (client['options'] ?? {}) as { socket?: object };
    return {
      legacyMode: false,
      disableOfflineQueue: false,
      socket: { ...socket, reconnectStrategy: false },
    };
  }

  function open(): Link {
    const own = duplicate.call(client, overrides());
    let lost = false;
    if (isSingle) {
      (own as unknown as Emitter).on('error', () => {
        lost = true;
      });
      (own['unref'] as () => void).call(own);
    }
    const close = typeof own['destroy'] === 'function' ? method(own, 'destroy') : method(own, 'disconnect');
    return linkTo(own, nodeRedis(own), method(own, 'connect'), () => lost || own['isOpen'] === false, close);
  }

  return { client, cluster, binary, open, isClosed: closedAfterOpening(client) };
}

export function nodeRedis3Source(client: Client): Source {
  const { cluster, binary } = nodeRedis3(client);
  const duplicate = client['duplicate'] as (overrides: object) => Client;

  function open(): Link {
    const own = duplicate.call(client, { retry_strategy: SILENT, retry_unfulfilled_commands: false });
    const events = own as unknown as Emitter;
    unrefOnConnect(own);
    const connect = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        events.on('ready', resolve);
        events.on('error', reject);
      });
    const close = (): unknown => (own['end'] as (flush: boolean) => unknown).call(own, true);
    return linkTo(own, nodeRedis3(own), connect, () => own['closing'] === true, close);
  }
  return { client, cluster, binary, open, isClosed: () => client['closing'] === true };
}

/**
 * The Sentinel of node-redis 5 cannot be duplicated itself, and its `sendCommand` sends a command again when its
 * connection was lost. Its `_execute` hands out the client of the current master, which can be duplicated.
 */
export function nodeRedis5SentinelSource(client: Client): Source {
  const execute = client['_execute'] as (
    isReadonly: boolean,
    run: (master: Client) => Promise<Client>,
  ) => Promise<Client>;
  const isClosed = closedAfterOpening(client);
  return {
    client,
    cluster: false,
    binary: true,
    open: () =>
      deferred(
        execute
          .call(client, false, async (master) => master)
          .then((master) => nodeRedisSource(master).open()),
      ),
    isClosed,
  };
}

/** valkey-glide keeps the configuration that a client was created with. */
export function glideSource(client: Client): Source {
  const { cluster, binary } = glide(client);
  const { createClient } = client['constructor'] as { createClient: Method };

  async function create(): Promise<Link> {
    const own = (await createClient.call(client['constructor'], {
      ...(client['config'] as object),
      // Its default of 250 ms would discard an answer that comes later, and with it the chance to undo a late charge.
      requestTimeout: 30_000,
      readFrom: 'primary',
      pubsubSubscriptions: undefined,
      lazyConnect: false,
    })) as Client;
    return {
      ready: Promise.resolve(glide(own)),
      error: undefined,
      isEnded: () => own['isClosed'] === true,
      close: method(own, 'close'),
    };
  }
  return {
    client,
    cluster,
    binary,
    open: () => deferred(create()),
    isClosed: () => client['isClosed'] === true,
  };
}

/** A link that takes a while to create. */
function deferred(creation: Promise<Link>): Link {
  let link: Link | undefined;
  let closed = false;
  let error: Error | undefined;
  const ready = creation.then(
    (created) => {
      link = created;
      if (closed) link.close();
      return link.ready;
    },
    (reason: Error) => {
      closed = true;
      error = reason;
      throw reason;
    },
  );
  ready.catch(SILENT);
  return {
    ready,
    get error() {
      return error ?? link?.error;
    },
    isEnded: () => closed || link?.isEnded() === true,
    close() {
      closed = true;
      link?.close();
    },
  };
}

/** A client of node-redis that was never opened is not closed: the store does not need it to be connected. */
function closedAfterOpening(client: Client): () => boolean {
  let wasOpen = false;
  return () => {
    wasOpen ||= client['isOpen'] === true;
    return wasOpen && client['isOpen'] === false;
  };
}
