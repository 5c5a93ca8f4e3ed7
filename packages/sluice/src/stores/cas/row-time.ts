/**
 * Computes the time of a row, which never goes back, even if the clocks of its writers differ or a service's clock is set back.
 *
 * A row whose last write has a future timestamp has a time of its own. That time equals the timestamp when this process first
 * sees the write, and then advances with this process's monotonic clock. So a caller waits only as long as its decision said, not
 * until the clock has caught up with the row, and no period of time replenishes the row twice.
 */
import type { Millis } from '../../engine/contract.ts';
import { warnOnce } from '../../internal/warn.ts';

interface Sighting {
  /** The time of the last write, as recorded in the row. */
  readonly written: Millis;
  /** The row's time when this process last read the row. */
  readonly time: Millis;
  /** When this process last read the row, by `performance.now()`. */
  readonly seenAt: Millis;
}

/** Maximum number of rows with a future timestamp to remember. If a row is forgotten, its callers only wait longer. */
const REMEMBERED = 10_000;
/** A timestamp that is further in the future than this causes a warning. Synchronized clocks differ by less. */
const SUSPICIOUS: Millis = 10_000;

/** `about` identifies the store in a warning about clock skew. */
export function rowTimes(about: object): (key: string, written: Millis, now: Millis) => Millis {
  const sightings = new Map<string, Sighting>();

  return function timeOf(key, written, now) {
    const last = sightings.get(key);
    if (last !== undefined) sightings.delete(key);
    if (written <= now) return now;
    if (written - now > SUSPICIOUS) warnOfSkew(written - now, about);
    const seenAt = performance.now();
    // True if no other process has written the row since this process last read it: the last write is the one that this process
    // read, or was made by this process.
    const isContinued = last !== undefined && (written === last.written || written === last.time);
    const time = isContinued ? last.time + (seenAt - last.seenAt) : written;
    if (sightings.size >= REMEMBERED) sightings.delete(sightings.keys().next().value as string);
    sightings.set(key, { written, time, seenAt });
    return time;
  };
}

function warnOfSkew(gap: Millis, about: object): void {
  const seconds = Math.round(gap / 1000);
  warnOnce(
    'SLUICE_CLOCK_SKEW',
    `A row has a time that is ${seconds} s in the future, so the clocks of the processes differ, or the service's clock was set ` +
      'back. Synchronize the clocks. A service of your own can also provide its time with now().',
    about,
  );
}
