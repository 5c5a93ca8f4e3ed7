/** Implements the grpc.health.v1 service, which tells load balancers whether to send requests here. */
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerWritableStream,
  status,
} from '@grpc/grpc-js';
import { type HealthRequest, type HealthResponse, SERVICES } from './proto.ts';

type Watcher = ServerWritableStream<HealthRequest, HealthResponse>;

export interface Health {
  readonly check: handleUnaryCall<HealthRequest, HealthResponse>;
  readonly watch: handleServerStreamingCall<HealthRequest, HealthResponse>;
  /** Sends the final status to all watchers and ends their streams. */
  close(): void;
}

/** Milliseconds between checks for a changed status. */
const CHECK_EVERY = 500;
/** Maximum number of watchers. Further watchers are rejected. */
const MAX_WATCHERS = 1000;

export function createHealth(isHealthy: () => boolean): Health {
  const watchers = new Map<Watcher, HealthResponse['status']>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  function statusOf(service: string): HealthResponse['status'] {
    if (!SERVICES.includes(service)) return 'SERVICE_UNKNOWN';
    return isHealthy() && !isClosed ? 'SERVING' : 'NOT_SERVING';
  }

  function notifyWatchers(): void {
    for (const [watcher, last] of watchers) {
      const now = statusOf(watcher.request.service);
      if (now === last) continue;
      watchers.set(watcher, now);
      watcher.write({ status: now });
    }
  }

  function forget(watcher: Watcher): void {
    watchers.delete(watcher);
    if (watchers.size === 0) clearInterval(timer);
  }

  return {
    check({ request }, callback) {
      const now = statusOf(request.service);
      if (now === 'SERVICE_UNKNOWN') callback({ code: status.NOT_FOUND, details: 'unknown service' });
      else callback(null, { status: now });
    },
    watch(watcher) {
      if (isClosed) return void watcher.end();
      if (watchers.size >= MAX_WATCHERS)
        return void watcher.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many watchers' });
      const now = statusOf(watcher.request.service);
      watcher.write({ status: now });
      if (watchers.size === 0) timer = setInterval(notifyWatchers, CHECK_EVERY).unref();
      watchers.set(watcher, now);
      watcher.on('cancelled', () => forget(watcher));
      watcher.on('close', () => forget(watcher));
    },
    close() {
      isClosed = true;
      notifyWatchers();
      clearInterval(timer);
      for (const watcher of watchers.keys()) watcher.end();
      watchers.clear();
    },
  };
}
