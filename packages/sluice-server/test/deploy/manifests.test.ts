/** Validates the manifests, the compose file and the unit of deploy/. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DCLinter } from 'dclint';
import * as apps from 'kubernetes-models/apps/v1';
import * as autoscaling from 'kubernetes-models/autoscaling/v2';
import * as networking from 'kubernetes-models/networking.k8s.io/v1';
import * as policy from 'kubernetes-models/policy/v1';
import * as core from 'kubernetes-models/v1';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root } from '../../../test-support/src/packed.ts';
import { started, take, temporaryFile, temporaryFolder } from '../serving.ts';

const read = (path: string): string => readFileSync(join(root, 'deploy', path), 'utf8');

interface Manifest {
  kind: string;
  apiVersion: string;
}

/** The models of Kubernetes' API, which validate with its official schemas. */
const models: Record<string, new (data: never) => { validate(): void }> = {
  Deployment: apps.Deployment,
  HorizontalPodAutoscaler: autoscaling.HorizontalPodAutoscaler,
  NetworkPolicy: networking.NetworkPolicy,
  PodDisruptionBudget: policy.PodDisruptionBudget,
  ConfigMap: core.ConfigMap,
  Service: core.Service,
};
const manifests = parseAllDocuments(read('kubernetes/sluice.yaml')).map((one) => one.toJS() as Manifest);
const deployment = manifests.find(({ kind }) => kind === 'Deployment') as unknown as apps.Deployment;
const pod = deployment.spec?.template.spec;
const container = pod?.containers[0];
const variable = (name: string) => container?.env?.find((one) => one.name === name)?.value;

test.each(manifests.map((one) => [one.kind, one] as const))(
  'the %s is valid for Kubernetes',
  (kind, manifest) => {
    const Model = models[kind];
    expect(new Model(manifest as never)).toMatchObject({ apiVersion: manifest.apiVersion });
    expect(() => new Model(manifest as never).validate()).not.toThrow();
    expect(() => new Model({ ...manifest, metadata: { name: 5 } } as never).validate()).toThrow();
  },
);

test('the grace periods are longer than the time that the server may take to drain', () => {
  const seconds = (text = '') => Number(/^(\d+)s$/.exec(text)?.[1]);
  const drain = seconds(variable('SLUICE_DRAIN_DELAY')) + seconds(variable('SLUICE_DRAIN_TIMEOUT'));
  expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(drain);
  const { sluice } = (parse(read('compose.yaml')) as Compose).services;
  expect(seconds(sluice['stop_grace_period'])).toBeGreaterThan(
    seconds(sluice.environment['SLUICE_DRAIN_DELAY']) + 10,
  );
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(read('systemd/sluice.service'))?.[1])).toBeGreaterThan(10);
});

interface Compose {
  services: Record<'sluice' | 'redis', Record<string, string> & { environment: Record<string, string> }>;
}

test('probes use ports that the image listens on', () => {
  const ports = new Map(container?.ports?.map(({ name, containerPort }) => [name, containerPort]));
  const exposed = /^EXPOSE (.+)$/m.exec(read('Dockerfile'))?.[1].split(' ').map(Number);
  expect(new Set(ports.values())).toEqual(new Set(exposed));
  for (const probe of [container?.startupProbe, container?.readinessProbe, container?.livenessProbe])
    expect(ports.get(String(probe?.httpGet?.port))).toBe(8082);
});

test('the compose file conforms to the Compose specification', () => {
  const linter = new DCLinter({ rules: {}, quiet: true, debug: false, exclude: [] });
  /** The faults of a file, without those that the linter considers bad style. */
  function faultsOf(file: string): string[] {
    // The package's types do not say what the result is.
    const results = linter.lintFiles([file], false) as { messages: { rule: string; message: string }[] }[];
    const messages = results.flatMap((result) => result.messages);
    return messages.filter(({ rule }) => rule.startsWith('invalid-')).map(({ message }) => message);
  }
  expect(faultsOf(join(root, 'deploy/compose.yaml'))).toEqual([]);
  const misspelled = temporaryFile(read('compose.yaml').replace('read_only:', 'readonly:'), 'compose.yaml');
  expect(faultsOf(misspelled)).toEqual([expect.stringContaining('must NOT have additional properties')]);
});

test('the compose file gives both services a read-only file system, and starts the server only after Redis is healthy', () => {
  const { services } = parse(read('compose.yaml')) as Compose;
  expect(services.sluice).toMatchObject({
    read_only: true,
    depends_on: { redis: { condition: 'service_healthy' } },
  });
  expect(services.redis).toMatchObject({
    read_only: true,
    healthcheck: { test: ['CMD', 'redis-cli', 'ping'] },
  });
  expect(services.redis['command']).toContain('--maxmemory-policy noeviction');
});

test('the server reloads its limits when Kubernetes updates the ConfigMap volume', async () => {
  const map = manifests.find(({ kind }) => kind === 'ConfigMap') as unknown as core.ConfigMap;
  const limits = map.data?.['limits.yaml'] ?? '';
  const folder = temporaryFolder();
  /** Updates the volume like the kubelet: a new folder, then an atomic swap of the link ..data. */
  function update(version: string, text: string): void {
    mkdirSync(join(folder, `..${version}`));
    writeFileSync(join(folder, `..${version}`, 'limits.yaml'), text);
    symlinkSync(`..${version}`, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  }
  update('1', limits);
  symlinkSync('..data/limits.yaml', join(folder, 'limits.yaml'));
  // The folder is the argument, as in the image.
  const server = await started('--config', folder);
  expect(await take(server.url, 'api', 'x')).toMatchObject({ limit: 100 });
  for (const limit of [200, 300]) {
    update(String(limit), limits.replace('100/min', `${limit}/min`));
    await server.says('"message":"configuration loaded"');
    expect(await take(server.url, 'api', 'x')).toMatchObject({ limit });
  }
});

test('systemd accepts the unit and considers it well protected', () => {
  const file = join(temporaryFolder(), 'sluice.service');
  // systemd-analyze requires that the command exists.
  writeFileSync(file, read('systemd/sluice.service').replace('/usr/bin/sluice', process.execPath));
  // An unknown setting is only a warning on standard error, and the exit code stays 0. Warnings about other units do not count.
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  expect(stderr.split('\n').filter((line) => line.includes('sluice.service'))).toEqual([]);
  expect(status).toBe(0);
  // The exposure level from 0 to 10, times ten.
  execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=15', file], { stdio: 'pipe' });
});
