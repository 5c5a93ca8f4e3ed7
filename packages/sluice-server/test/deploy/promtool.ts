/** Evaluates the alert rules of deploy/monitoring on samples that were scraped from real servers. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../../test-support/src/packed.ts';
import { temporaryFolder } from '../serving.ts';

export const RULES: string = join(root, 'deploy/monitoring/alerts.yaml');

/** The text of /metrics, and when it was scraped, in milliseconds since 1970. */
export interface Scrape {
  readonly text: string;
  readonly at: number;
}

/**
 * Returns the alerts that fire after a number of steps of `minutes` each. Each server is a list of scrapes. promtool treats them as
 * one step apart, and repeats the last scrape until the end.
 */
export function firing(servers: readonly (readonly Scrape[])[], steps: number, minutes = 1): string[] {
  const names = readFileSync(RULES, 'utf8').match(/(?<=alert: )\w+/g) ?? [];
  const interval = `${minutes}m`;
  // promtool can only compare with an expectation. We expect that no alert fires, so promtool reports the alerts that do.
  const checks = names.map((name) => ({
    expr: `count(ALERTS{alertname="${name}",alertstate="firing"})`,
    eval_time: `${steps * minutes}m`,
    exp_samples: [],
  }));
  const input = servers.flatMap((scrapes, i) => seriesOf(scrapes, `server-${i}`, steps));
  const tests = [{ interval, input_series: input, promql_expr_test: checks }];
  const file = join(temporaryFolder(), 'test.yaml');
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: interval, tests }));
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  if (status === 0) return [];
  const found = names.filter((name) => (stdout + stderr).includes(`alertname=\\"${name}\\"`));
  if (found.length === 0) throw new Error(`promtool cannot evaluate the rules:\n${stdout}${stderr}`);
  return found;
}

function seriesOf(scrapes: readonly Scrape[], instance: string, steps: number): object[] {
  const values = new Map<string, string[]>();
  scrapes.forEach(({ text, at }, i) => {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) continue;
      const key = `${name}{${labels && `${labels},`}instance="${instance}"}`;
      // promtool's clock starts at 0, so the time of the scrape is subtracted from timestamps.
      const moved = name.endsWith('_timestamp_seconds') ? Number(value) - at / 1000 : Number(value);
      const list = values.get(key) ?? Array<string>(i).fill('_');
      list[i] = String(moved);
      values.set(key, list);
    }
  });
  return [...values].map(([name, list]) => ({
    series: name,
    values: `${list.join(' ')} ${list.at(-1)}x${steps}`,
  }));
}
