/** A configuration takes effect as a whole or not at all, no matter at which point loading it fails. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory, SluiceError } from 'sluice';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseConfig, readFiles } from '../../src/config/config.ts';
import type { Config, Domain, LimitConfig, Rule, RuleLimit } from '../../src/config/model.ts';
import { type Core, createCore } from '../../src/core/core.ts';
import { createLog } from '../../src/log.ts';
import { createReloader } from '../../src/config/reload.ts';

const configOf = (limit: number): Config =>
  parseConfig([
    {
      file: 'limits.yaml',
      text: `
limits: { api: ${limit}/h }
---
domain: edge
descriptors: [{ key: path, rate_limit: { unit: hour, requests_per_unit: ${limit} } }]`,
    },
  ]);

/** An invalid policy, which is detected only when a limiter is created from it. */
const BROKEN = 'none at all';

function withBrokenLimit(config: Config): Config {
  const api = config.limits.get('api') as LimitConfig;
  return {
    ...config,
    limits: new Map([...config.limits, ['bad', { ...api, name: 'bad', policies: BROKEN }]]),
  };
}

function withBrokenRule(config: Config): Config {
  const { level, name } = config.domains.get('edge') as Domain;
  const rule = level.any.get('path') as Rule;
  const bad: Rule = { ...rule, key: 'bad', limit: { ...(rule.limit as RuleLimit), policies: BROKEN } };
  const domain = { name, level: { ...level, any: new Map([...level.any, ['bad', bad]]) } };
  return { ...config, domains: new Map([['edge', domain]]) };
}

/** The limits in use, as the HTTP API and Envoy see them. */
async function inForce(core: Core) {
  const { limit } = await core.peek('api', 'k');
  const descriptor = { entries: [{ key: 'path', value: '/' }] };
  const { statuses } = await core.decide('edge', [descriptor], 0);
  return [core.config.limits.get('api')?.text, limit, statuses[0]?.currentLimit?.requestsPerUnit];
}

const FIVE = ['5/h', 5, 5];
const SEVEN = ['7/h', 7, 7];

let core: Core;
beforeEach(() => {
  core = createCore(configOf(5), { store: memory() });
});
afterEach(() => core.close());

describe.each([
  ['a limit', withBrokenLimit],
  ['a descriptor', withBrokenRule],
])('a configuration that fails while %s is being created', (_, broken) => {
  test('leaves the limits and descriptors of the previous configuration in use', async () => {
    expect(await inForce(core)).toEqual(FIVE);
    await expect(core.reload(broken(configOf(7)))).rejects.toThrow(SluiceError);
    expect(await inForce(core)).toEqual(FIVE);
    expect(() => core.peek('bad', 'k')).toThrow('bad');
    await core.reload(configOf(7));
    expect(await inForce(core)).toEqual(SEVEN);
  });

  test('is reported as invalid, and is not loaded again until a file changes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-reload-'));
    try {
      const file = join(folder, 'limits.yaml');
      writeFileSync(file, 'limits: { api: 5/h }');
      const lines: string[] = [];
      let tries = 0;
      const failing: Core = {
        ...core,
        reload() {
          tries++;
          return core.reload(broken(configOf(7)));
        },
      };
      const log = createLog((line) => lines.push((JSON.parse(line) as { level: string }).level));
      const reloader = createReloader(failing, [folder], log, readFiles([folder]));
      const { hash, loadedAt } = reloader.loaded;
      writeFileSync(file, 'limits: { api: 7/h }');
      for (let i = 0; i < 3; i++) await reloader.check();
      expect(tries).toBe(1);
      expect(lines).toEqual(['error', 'warn']);
      expect(reloader.loaded).toEqual({ hash, loadedAt, error: expect.stringContaining(BROKEN) });
      const [good, bad] = reloads();
      expect([good, bad]).toEqual([0, 1]);
      expect(await inForce(core)).toEqual(FIVE);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

function reloads(): number[] {
  const text = core.metrics.text();
  return ['good', 'bad'].map((result) =>
    Number(new RegExp(`reloads_total\\{result="${result}"\\} (\\d+)`).exec(text)?.[1]),
  );
}
