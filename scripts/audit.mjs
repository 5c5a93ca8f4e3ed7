// @ts-check
// Known weaknesses in what users of the packages install. The list of them is in the registry: where that has none or cannot
// be reached, this warns and passes, so that a build without a network does not fail for it.

import { spawnSync } from 'node:child_process';

const { stdout, error } = spawnSync(
  'npm',
  ['audit', '--omit=dev', '--audit-level=high', '--json', '--fetch-retries=0', '--fetch-timeout=15000'],
  { encoding: 'utf8', timeout: 60_000, shell: process.platform === 'win32' },
);

/** @typedef {{ severity: string, via: (string | { title: string, url: string })[] }} Weakness */
/** @type {{ vulnerabilities?: Record<string, Weakness>, message?: string, error?: { summary?: string } }} */
let report = {};
try {
  report = JSON.parse(stdout ?? '');
} catch {
  report.message = String(error ?? 'no report');
}

if (report.vulnerabilities === undefined) {
  const why = report.error?.summary || report.message || 'no report';
  console.log(`warning: dependencies were not audited: ${why.split('\n')[0]}`);
} else {
  const grave = Object.entries(report.vulnerabilities).filter(([, { severity }]) =>
    ['high', 'critical'].includes(severity),
  );
  for (const [name, { severity, via }] of grave) {
    const reasons = via.map((one) => (typeof one === 'string' ? one : `${one.title} ${one.url}`));
    console.error(`${severity}: ${name}: ${reasons.join('; ')}`);
  }
  process.exitCode = grave.length > 0 ? 1 : 0;
}
