// @ts-check
// Writes dashboard.json for Grafana and alerts.yaml for Prometheus. With --check, fails if they are out of date.

import { readFileSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';

const DAY = 24 * 60 * 60;

/** @type {{ name: string, expr: string, for?: string, severity: string, summary: string, description: string }[]} */
const alerts = [
  {
    name: 'SluiceTargetDown',
    // The metric comes from Prometheus, not from the server, so the rule needs the name of the job in your scrape configuration.
    expr: 'up{job="sluice"} == 0',
    for: '1m',
    severity: 'critical',
    summary: 'Prometheus cannot scrape a Sluice server',
    description: 'Check that the server runs and that Prometheus can reach its /metrics.',
  },
  {
    name: 'SluiceStoreDown',
    expr: 'sluice_store_up == 0',
    for: '1m',
    severity: 'critical',
    summary: 'A Sluice server has lost its store',
    description:
      'Check that the store runs and that the server can reach it. --on-failure decides until it is back.',
  },
  {
    name: 'SluiceFallbackActive',
    expr: 'sluice_fallback_active == 1',
    for: '1m',
    severity: 'critical',
    summary: 'A Sluice server decides without its store',
    description:
      'Depending on --on-failure, each server decides on its own, allows all requests or denies all requests. Its log says which.',
  },
  {
    name: 'SluiceStoreErrors',
    expr: 'sum without (fault) (rate(sluice_store_errors_total[5m])) > 0 and sluice_store_up == 1',
    for: '10m',
    severity: 'warning',
    summary: 'The store of a Sluice server answers with errors',
    description:
      'The server has a connection to its store, but some checks fail. The label fault of sluice_store_errors_total says why.',
  },
  {
    name: 'SluiceServerErrors',
    expr: [
      // An unhealthy server answers health checks with 500 or 503 on purpose.
      'sum without (listener, route, code) (rate(sluice_requests_total{code=~"5..|INTERNAL|UNAVAILABLE",route!~"/healthcheck|/readyz"}[5m]))',
      '/ sum without (listener, route, code) (rate(sluice_requests_total[5m])) > 0.01',
    ].join('\n'),
    for: '5m',
    severity: 'critical',
    summary: 'A Sluice server answers more than 1 % of the requests with an error',
    description:
      'The cause is a failure of the server or of its store. The log of the server shows the error.',
  },
  {
    name: 'SluiceEvictions',
    expr: 'rate(sluice_evictions_total[5m]) > 0',
    for: '5m',
    severity: 'warning',
    summary: 'The memory store of a Sluice server is full',
    description: 'Evicted keys get their whole limit back. Raise --max-keys, or use Redis.',
  },
  {
    name: 'SluiceHighDenialRatio',
    expr: [
      'sum by (limit) (rate(sluice_decisions_total{outcome="denied"}[5m]))',
      '/ sum by (limit) (rate(sluice_decisions_total[5m])) > 0.5',
    ].join('\n'),
    for: '5m',
    severity: 'warning',
    summary: 'More than half of the takes of a limit are denied',
    description:
      'Either clients send too many requests, or the limit is too low. The Live page of the server shows the most denied keys; with --top-keys, sluice top does too.',
  },
  {
    name: 'SluiceEventLoopLag',
    expr: 'sluice_event_loop_lag_seconds > 0.2',
    for: '2m',
    severity: 'warning',
    summary: 'A Sluice server is overloaded',
    description: 'Responses wait longer than 200 ms for the event loop. Add servers, or use --leased.',
  },
  {
    name: 'SluiceCertificateExpiresSoon',
    expr: `sluice_certificate_expiry_timestamp_seconds - time() < ${14 * DAY}`,
    severity: 'warning',
    summary: 'A certificate of a Sluice server expires within 14 days',
    description:
      'Replace the files of --tls-cert and --tls-key. The server loads them without a restart. If the label listener is store, replace the files of --store-cert and --store-key, and restart the server.',
  },
  {
    name: 'SluiceConfigReloadFailed',
    expr: 'sluice_config_last_reload_successful == 0',
    for: '1m',
    severity: 'warning',
    summary: 'A Sluice server has rejected a new configuration',
    description: 'The server keeps the previous configuration. Its log and sluice check show the errors.',
  },
  {
    name: 'SluiceConfigsDiffer',
    expr: 'count(count by (hash) (sluice_config_info)) > 1',
    for: '15m',
    severity: 'warning',
    summary: 'Sluice servers have different configurations',
    description: 'Servers that share a store count a limit separately if their files define it differently.',
  },
  {
    name: 'SluiceShadowMode',
    expr: 'sluice_mode{mode="shadow"} == 1',
    for: '1d',
    severity: 'info',
    summary: 'A Sluice server has been in shadow mode for a day',
    description: 'The server counts but never denies. Remove --shadow to enforce the limits.',
  },
];

/** @param {string} metric @param {number} quantile */
const quantile = (metric, quantile, by = '') =>
  `histogram_quantile(${quantile}, sum by (le${by}) (rate(${metric}_bucket[$__rate_interval])))`;

/** @type {[title: string, unit: string, ...queries: [expr: string, legend: string][]][]} */
const panels = [
  [
    'Decisions',
    'reqps',
    ['sum by (outcome) (rate(sluice_decisions_total[$__rate_interval]))', '{{outcome}}'],
  ],
  [
    'Denied takes by limit',
    'reqps',
    [
      'topk(10, sum by (limit) (rate(sluice_decisions_total{outcome="denied"}[$__rate_interval])))',
      '{{limit}}',
    ],
  ],
  [
    'Allowed takes near the limit',
    'reqps',
    ['topk(10, sum by (limit) (rate(sluice_near_limit_total[$__rate_interval])))', '{{limit}}'],
  ],
  [
    'Requests',
    'reqps',
    ['sum by (listener, code) (rate(sluice_requests_total[$__rate_interval]))', '{{listener}} {{code}}'],
  ],
  [
    'Request duration',
    's',
    [quantile('sluice_request_duration_seconds', 0.5, ', listener'), '{{listener}} median'],
    [quantile('sluice_request_duration_seconds', 0.99, ', listener'), '{{listener}} 99 %'],
  ],
  [
    'Store duration',
    's',
    [quantile('sluice_store_duration_seconds', 0.5), 'median'],
    [quantile('sluice_store_duration_seconds', 0.99), '99 %'],
  ],
  [
    'Store',
    'short',
    ['sluice_store_up', '{{instance}} up'],
    ['sluice_fallback_active', '{{instance}} fallback active'],
  ],
  [
    'Store errors and fallbacks',
    'reqps',
    ['sum by (fault) (rate(sluice_store_errors_total[$__rate_interval]))', '{{fault}}'],
    ['sum(rate(sluice_store_fallbacks_total[$__rate_interval]))', 'fallbacks'],
  ],
  ['Event loop lag', 's', ['sluice_event_loop_lag_seconds', '{{instance}}']],
  ['CPU cores in use', 'short', ['rate(process_cpu_seconds_total[$__rate_interval])', '{{instance}}']],
  ['Memory', 'bytes', ['process_resident_memory_bytes', '{{instance}}']],
  ['Connections', 'short', ['sum by (listener) (sluice_connections)', '{{listener}}']],
  [
    'Evictions of the memory store',
    'ops',
    ['sum(rate(sluice_evictions_total[$__rate_interval]))', 'evictions'],
  ],
  [
    'Time until certificates expire',
    's',
    ['sluice_certificate_expiry_timestamp_seconds - time()', '{{instance}} {{listener}}'],
  ],
  ['Servers by configuration', 'short', ['count by (hash) (sluice_config_info)', '{{hash}}']],
  ['Servers by mode', 'short', ['sum by (mode) (sluice_mode)', '{{mode}}']],
];

const rules = {
  groups: [
    {
      name: 'sluice',
      rules: alerts.map(({ name, expr, for: duration, severity, summary, description }) => ({
        alert: name,
        expr,
        ...(duration && { for: duration }),
        labels: { severity },
        annotations: { summary, description },
      })),
    },
  ],
};

const datasource = { type: 'prometheus', uid: '$' + '{datasource}' };
const dashboard = {
  uid: 'sluice',
  title: 'Sluice',
  tags: ['sluice'],
  schemaVersion: 39,
  refresh: '30s',
  time: { from: 'now-1h', to: 'now' },
  templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
  panels: panels.map(([title, unit, ...queries], i) => ({
    id: i + 1,
    type: 'timeseries',
    title,
    datasource,
    gridPos: { x: (i % 2) * 12, y: Math.floor(i / 2) * 8, w: 12, h: 8 },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(([expr, legendFormat], at) => ({
      refId: String.fromCharCode(65 + at),
      datasource,
      expr,
      legendFormat,
    })),
  })),
};

const outputs = {
  'alerts.yaml': '# Generated by generate.mjs\n' + stringify(rules),
  'dashboard.json': JSON.stringify(dashboard, null, 2) + '\n',
};
for (const [name, text] of Object.entries(outputs)) {
  const file = new URL(name, import.meta.url);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`deploy/monitoring/${name} is out of date. Run: node deploy/monitoring/generate.mjs`);
    process.exitCode = 1;
  }
}
