/**
 * Tests files that GitHub, Docker and other services read. They must parse, and the commands and files that they name must exist.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { root } from 'sluice-test-support/packed.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, string>>;
}
interface Workflow {
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly permissions?: Readonly<Record<string, string>>;
        readonly strategy?: { readonly matrix: { readonly node: readonly number[] } };
        readonly steps: readonly Step[];
      }
    >
  >;
}

const text = (file: string): string => readFileSync(join(root, file), 'utf8');
const yaml = (file: string): unknown => parse(text(file), { strict: true });
const scripts = (JSON.parse(text('package.json')) as { scripts: Record<string, string> }).scripts;
const workflows = readdirSync(join(root, '.github/workflows')).map((name) => `.github/workflows/${name}`);
const stepsOf = (file: string): Step[] =>
  Object.values((yaml(file) as Workflow).jobs).flatMap(({ steps }) => [...steps]);

describe('the workflow', () => {
  test.each(workflows)('%s runs commands that exist', (file) => {
    const lines = stepsOf(file).flatMap((step) => [step.run, step.with?.['version'], step.with?.['publish']]);
    for (const line of lines.filter((one) => one !== undefined)) {
      const script = /npm run ([\w:]+)/.exec(line)?.[1];
      if (script !== undefined) expect(scripts).toHaveProperty([script]);
      const path = /(?:bash|node) (\S+)/.exec(line)?.[1];
      if (path !== undefined) expect(existsSync(join(root, path)), path).toBe(true);
    }
  });

  test.each(workflows)('%s pins a version of every action', (file) => {
    for (const { uses } of stepsOf(file)) if (uses !== undefined) expect(uses).toMatch(/@v?\d/);
  });
});

test('CI runs all checks on every supported version of Node and audits the dependencies that users install', () => {
  const { test: job, dependencies } = (yaml('.github/workflows/ci.yml') as Workflow).jobs;
  expect(job?.strategy?.matrix.node).toEqual([20, 22, 24]);
  expect(job?.steps.at(-1)?.run).toContain('.ci/run');
  expect(dependencies?.steps.at(-1)?.run).toBe('npm audit --omit=dev --audit-level=high');
});

test('releases are published with provenance', () => {
  const { release } = (yaml('.github/workflows/release.yml') as Workflow).jobs;
  expect(release?.permissions?.['id-token']).toBe('write');
  for (const name of ['sluice', 'compat', 'sluice-server'])
    expect(JSON.parse(text(`packages/${name}/package.json`)).publishConfig.provenance).toBe(true);
});

test.each(readdirSync(join(root, '.github/ISSUE_TEMPLATE')))(
  'the issue template %s is valid YAML',
  (name) => {
    expect(yaml(`.github/ISSUE_TEMPLATE/${name}`)).toBeTypeOf('object');
  },
);

test('compose.yaml starts Redis, Valkey and Postgres', () => {
  const { services } = yaml('compose.yaml') as { services: Record<string, { image: string }> };
  expect(Object.keys(services)).toEqual(['redis', 'valkey', 'postgres']);
});

test('the dev container and Renovate are configured with valid JSON', () => {
  // A YAML parser reads JSON, and the comments are stripped first.
  expect(parse(text('.devcontainer/devcontainer.json').replace(/^\s*\/\/.*$/gm, ''))).toHaveProperty('image');
  expect(JSON.parse(text('.github/renovate.json'))).toHaveProperty('extends');
});

test('package.json allows every install script by name, so that npm ci prints no warning', () => {
  const { packages } = JSON.parse(text('package-lock.json')) as {
    packages: Record<string, { hasInstallScript?: boolean; os?: readonly string[]; cpu?: readonly string[] }>;
  };
  const { allowScripts } = JSON.parse(text('package.json')) as { allowScripts: Record<string, boolean> };
  const names = Object.entries(packages)
    .filter(
      ([, { hasInstallScript, os, cpu }]) =>
        hasInstallScript && (os?.includes('linux') ?? true) && (cpu?.includes('x64') ?? true),
    )
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  for (const name of names) expect(allowScripts).toHaveProperty([name]);
});

test('the lock file names no registry and no package that needs a newer Node than 20', () => {
  const lock = text('package-lock.json');
  expect(lock).not.toMatch(/"resolved": "https?:/);
  expect(lock).not.toMatch(/"node": "\^?(>=)? ?2[1-9](\.\d+)*"/);
});
