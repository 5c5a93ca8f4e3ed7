/** Counts the replies of one connection for the metrics. */
import type { Millis } from 'sluice';
import type { Service } from './service.ts';

export type Code = 'ok' | 'error';

export interface ReplyCounter {
  /** Reports `times` replies to the command `name`. The first of these commands started at `start`. */
  report(name: string, code: Code, times: number, start: Millis): void;
  /** Counts a reply. Consecutive replies with the same command and code are reported together. */
  count(name: string, code: Code, start: Millis): void;
  /** Reports the replies that were counted since the last report. */
  flush(): void;
}

export function createReplyCounter({ core, answered }: Pick<Service, 'core' | 'answered'>): ReplyCounter {
  const batch = { name: '', code: 'ok' as Code, times: 0, start: 0 };

  function report(name: string, code: Code, times: number, start: Millis): void {
    answered(times);
    core.metrics.answered('resp', name, code, performance.now() - start, times);
  }

  function flush(): void {
    if (batch.times > 0) report(batch.name, batch.code, batch.times, batch.start);
    batch.times = 0;
  }

  return {
    report,
    flush,
    count(name, code, start) {
      if (name !== batch.name || code !== batch.code) flush();
      if (batch.times === 0) {
        batch.name = name;
        batch.code = code;
        batch.start = start;
      }
      batch.times++;
    },
  };
}
