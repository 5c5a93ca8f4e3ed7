/** Creates metrics as data. */
import type { Family, Histogram, Sample } from 'sluice/prometheus';

/** `name` is the OpenTelemetry name, from which the Prometheus name is derived. */
export function family(
  name: string,
  type: Family['type'],
  help: string,
  samples: number | Histogram | readonly Sample[],
  unit?: Family['unit'],
): Family {
  return {
    name,
    type,
    help,
    unit,
    samples: Array.isArray(samples) ? samples : [{ value: samples as number | Histogram }],
  };
}
