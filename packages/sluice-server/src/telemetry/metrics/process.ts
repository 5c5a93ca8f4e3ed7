/** Metrics of the process: CPU time, memory, start time and the lag of the event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Family } from 'sluice/prometheus';
import { family } from './family.ts';

/** Milliseconds between measurements of the event loop. Each measurement costs a timer. */
const RESOLUTION = 20;
/** Milliseconds after which measurements are discarded, so that a long stall does not raise the gauge forever. */
const PERIOD = 15_000;

export interface ProcessMetrics {
  families(): Family[];
  /** Stops measuring the event loop. */
  close(): void;
}

/**
 * Starts to measure. The lag is the maximum of the current period and the one before, so that a scraper that reads it at least every
 * 15 seconds sees each stall, whatever other scrapers there are.
 */
export function measureProcess(): ProcessMetrics {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  delays.enable();
  let previous = 0;
  // A measured delay includes the interval of the timer itself.
  const current = (): number => (delays.count === 0 ? 0 : Math.max(0, delays.max / 1e9 - RESOLUTION / 1000));
  const rotation = setInterval(() => {
    previous = current();
    delays.reset();
  }, PERIOD).unref();

  return {
    families() {
      const { user, system } = process.cpuUsage();
      return [
        family('process.cpu', 'counter', 'CPU time of the process.', (user + system) / 1e6, 's'),
        family(
          'process.resident_memory',
          'gauge',
          'Resident memory of the process.',
          process.memoryUsage.rss(),
          'By',
        ),
        family(
          'process.start_time',
          'gauge',
          'When the process started.',
          performance.timeOrigin / 1000,
          's',
        ),
        family(
          'sluice.event_loop.lag',
          'gauge',
          'Longest delay of the event loop in the last 15 to 30 seconds.',
          Math.max(previous, current()),
          's',
        ),
      ];
    },
    close() {
      clearInterval(rotation);
      delays.disable();
    },
  };
}
