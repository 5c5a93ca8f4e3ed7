/** GET /: names the endpoints, until there is a page to look at limits. */

const ENDPOINTS: readonly (readonly [call: string, meaning: string])[] = [
  ['POST /v1/take', 'charge a key, if its limit allows'],
  ['POST /v1/peek', 'the same answer, nothing charged'],
  ['POST /v1/refund', 'give back'],
  ['POST /v1/block', 'deny a key for a while'],
  ['POST /v1/reset', 'forget a key'],
  ['GET /v1/limits', 'the limits that are loaded'],
  ['POST /json', "Envoy's ShouldRateLimit as JSON"],
  ['GET /rlconfig', 'the configuration, a line per limit'],
  ['GET /healthcheck', 'whether to send requests here'],
  ['GET /metrics', 'for Prometheus'],
  ['GET /openapi.json', 'all of this for machines'],
];

const ROWS = ENDPOINTS.map(
  ([call, meaning]) => `<tr><td><code>${call}</code></td><td>${meaning}</td></tr>`,
).join('\n');

export const PAGE: string = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sluice</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark }
td { padding: .2rem 1rem .2rem 0; vertical-align: top }
pre { overflow-x: auto }
</style>
</head>
<body>
<h1>Sluice</h1>
<p>This server decides rate limits. It answers here:</p>
<table>
${ROWS}
</table>
<pre><code>curl -d '{"limit":"api","key":"alice"}' http://localhost:8080/v1/take</code></pre>
</body>
</html>
`;
