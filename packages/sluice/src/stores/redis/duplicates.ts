/**
 * Opens the store's own connection to the server. The connection is a duplicate of the client that was passed to the store, with
 * the settings that the store needs. A duplicate never sends a command twice. A duplicate that is connected to a single server
 * never reconnects; instead, `reconnect.ts` opens the next one.
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

/** The link to a duplicate. It exists from the time when the duplicate is opened until the duplicate has ended. */
export interface Link {
  /** Resolves when commands can be sent. Rejects if the connection could not be established. */
  readonly ready: Promise<Connection>;
  /** The most recent error that the duplicate reported independently of a command. */
  readonly error: Error | undefined;
  /** Whether the duplicate can never be used again. */
  isEnded(): boolean;
  close(): unknown;
}

/** A source of connections. */
export interface Source extends Pick<Connection, 'client' | 'cluster' | 'binary'> {
  open(): Link;
  /** Whether the client that was passed to the store has been closed by its owner. */
  isClosed(): boolean;
}

interface Emitter {
  on(event: string, listener: (argument?: unknown) => void): unknown;
}

const SILENT = (): void => {};

function method(client: Client, name: string): Method {
  return (client[name] as Method).bind(client);
}

/** Creates a link to a duplicate. `isEnded` returns whether the duplicate has ended, and `close` closes the duplicate. */
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
    // node-redis 3 reports that it gave up, with the cause in the `origin` property of the error.
    error = (reported as { origin?: Error } | undefined)?.origin ?? (reported as Error);
  });
  const ready = connect().then(
    () => connection,
    (reason: Error) => {
      failed = true;
      throw error ?? reason;
    },
  );
  // Calls that wait for the connection get the error. This handler only prevents an unhandled rejection.
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
        // If there is nothing left to close, some clients reject and some throw.
        Promise.resolve(close()).catch(SILENT);
      } catch {}
    },
  };
}

/**
 * Lets the process exit while this connection is open. While a caller waits for an answer, the timer of its deadline keeps the
 * process alive.
 */
function unrefOnConnect(own: Client): void {
  (own as unknown as Emitter).on('connect', () =>
    (own['stream'] as { unref?(): void } | undefined)?.unref?.(),
  );
}

const never = (): null => null;

/**
 * Options for duplicates of ioredis and iovalkey on a single server or Sentinel. All other options, such as `keyPrefix` or `tls`,
 * are copied from the client.
 */
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

/** Options for duplicates of ioredis and iovalkey cluster clients, which find the successor of a failed node by themselves. */
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
    // The database that the application chose with select() after it created the client, if any.
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

/** Duplicates node-redis clients of version 4 and later, except for pools and the Sentinel client of version 5. */
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
 * The Sentinel client of node-redis 5 cannot be duplicated, and its `sendCommand` resends a command when its connection is lost.
 * Its `_execute` provides the client of the current master, which can be duplicated.
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

/** Duplicates valkey-glide clients, which keep the configuration that they were created with. */
export function glideSource(client: Client): Source {
  const { cluster, binary } = glide(client);
  const { createClient } = client['constructor'] as { createClient: Method };

  async function create(): Promise<Link> {
    const own = (await createClient.call(client['constructor'], {
      ...(client['config'] as object),
      // With the default of 250 ms, the client would discard later answers, so a late charge could not be undone.
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

/** A link that is created asynchronously. */
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

/**
 * Returns a function that tells whether the client was closed after it was open. A node-redis client that was never opened does
 * not count as closed, because the store does not need it to be connected.
 */
function closedAfterOpening(client: Client): () => boolean {
  let wasOpen = false;
  return () => {
    wasOpen ||= client['isOpen'] === true;
    return wasOpen && client['isOpen'] === false;
  };
}
