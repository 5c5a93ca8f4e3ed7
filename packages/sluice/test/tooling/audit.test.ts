/** scripts/audit.mjs, which asks npm; here an npm that answers as told. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'sluice-audit-'));
const script = fileURLToPath(new URL('../../../../scripts/audit.mjs', import.meta.url));
afterAll(() => rmSync(folder, { recursive: true }));

function audit(answer: string) {
  writeFileSync(join(folder, 'answer'), answer);
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\ncat ${join(folder, 'answer')}\nexit 1\n`);
  chmodSync(join(folder, 'npm'), 0o755);
  const PATH = [folder, dirname(process.execPath), '/bin', '/usr/bin'].join(delimiter);
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    env: { PATH },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

const found = (severity: string) =>
  JSON.stringify({
    vulnerabilities: { leftpad: { severity, via: [{ title: 'Pads right', url: 'ADV-1' }] } },
  });

test.each(['high', 'critical'])('a weakness that is %s fails the build, by name', (severity) => {
  const { status, stderr } = audit(found(severity));
  expect(status).toBe(1);
  expect(stderr).toBe(`${severity}: leftpad: Pads right ADV-1\n`);
});

test.each(['low', 'moderate'])('one that is %s does not', (severity) => {
  expect(audit(found(severity))).toEqual({ status: 0, stdout: '', stderr: '' });
});

test.each([
  ['{"message":"405 Method Not Allowed","error":{"summary":"","detail":""}}', '405 Method Not Allowed'],
  ['{"error":{"summary":"request failed\\nreason: no network"}}', 'request failed'],
  ['', 'no report'],
  ['<html>', 'no report'],
])('without a report it warns and passes: %s', (answer, why) => {
  const { status, stdout } = audit(answer);
  expect(status).toBe(0);
  expect(stdout).toBe(`warning: dependencies were not audited: ${why}\n`);
});
