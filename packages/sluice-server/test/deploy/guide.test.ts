/** Checks what docs/guides/deploying.md tells readers to type against the files of deploy/. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type IDeployment, Deployment } from 'kubernetes-models/apps/v1';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { root, textOf } from 'sluice-test-support/docs/blocks.ts';
import { commandsIn, reading } from 'sluice-test-support/docs/reading.ts';
import { SERVE_FLAGS } from '../../src/cli/serve-flags.ts';
import { started, temporaryFolder } from '../serving.ts';

const guide = textOf('docs/guides/deploying.md');
const block = reading('docs/guides/deploying.md');
const image = commandsIn(block('sh', 'docker build'));
const compose = commandsIn(block('sh', 'docker compose'));
const apply = commandsIn(block('sh', 'kubectl apply'));
const secrets = commandsIn(block('sh', 'create secret tls'));
const additions = block('yaml', 'volumeMounts');
const systemd = commandsIn(block('sh', 'systemctl'));
const dropIn = block('', 'LoadCredential');
const scraping = block('yaml', 'scrape_configs');

const deployment = parseAllDocuments(textOf('deploy/kubernetes/sluice.yaml'))
  .map((one) => one.toJS() as IDeployment)
  .find(({ kind }) => kind === 'Deployment');
const environment = /^ENV ([\s\S]*?[^\\])$/m.exec(textOf('deploy/Dockerfile'))?.[1] ?? '';

/** The value of an option of a command, such as the file in `--file deploy/Dockerfile`. */
function optionOf(option: string, command = ''): string {
  const [, value = ''] = new RegExp(`${option}[ =](\\S+)`).exec(command) ?? [];
  return value;
}

test('every path in the commands exists, and the image reads the limits from the mounted folder', async () => {
  const [build, run = '', curl = ''] = image;
  expect(optionOf('--file', build)).toBe('deploy/Dockerfile');
  expect(textOf('deploy/Dockerfile')).toContain(build);
  const [folder = '', target, access] = /"\$PWD\/(.*?)"/.exec(run)?.[1]?.split(':') ?? [];
  expect([environment.includes(`SLUICE_CONFIG=${target}`), access]).toEqual([true, 'ro']);
  const [, , port = ''] = optionOf('--publish', run).split(':');
  expect(environment).toContain(`SLUICE_HTTP=0.0.0.0:${port}`);
  expect(run.endsWith(` ${optionOf('--tag', build)}`)).toBe(true);
  const { url } = await started('--config', join(root, folder));
  const { stdout } = spawnSync('sh', ['-c', curl.replace('http://127.0.0.1:8080', url)], {
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toMatchObject({ allowed: true });
  const paths = [...compose, ...apply, ...systemd].flatMap((line) => line.match(/\bdeploy\/\S+/g) ?? []);
  expect(paths).toHaveLength(4);
  for (const path of paths) expect(existsSync(join(root, path)), path).toBe(true);
  for (const [path = ''] of guide.matchAll(/(?<=\]\(\.\.\/\.\.\/)deploy\/[^)]+/g))
    expect(existsSync(join(root, path)), path).toBe(true);
});

test('the commands for Kubernetes create the secret that the Deployment reads, and wait for the Deployment', () => {
  const [create = '', , rollout] = apply;
  const { name, key } =
    deployment?.spec?.template.spec?.containers[0]?.env?.find((one) => one.name === 'SLUICE_STORE')?.valueFrom
      ?.secretKeyRef ?? {};
  expect(create).toContain(`secret generic ${name} --from-literal=${key}=redis://`);
  expect(textOf('deploy/kubernetes/sluice.yaml')).toContain(create);
  expect(rollout).toBe(`kubectl rollout status deployment/${deployment?.metadata?.name}`);
});

test('with the lines for tokens and TLS, the Deployment is valid and uses the secrets that the commands create', () => {
  const { containers, volumes } = parse(additions) as NonNullable<
    NonNullable<IDeployment['spec']>['template']['spec']
  >;
  const [added] = containers;
  const pod = deployment?.spec?.template.spec;
  const [container] = pod?.containers ?? [];
  expect(added?.name).toBe(container?.name);
  const merged = structuredClone(deployment) as IDeployment;
  const spec = merged.spec?.template.spec;
  spec?.volumes?.push(...(volumes ?? []));
  spec?.containers[0]?.env?.push(...(added?.env ?? []));
  spec?.containers[0]?.volumeMounts?.push(...(added?.volumeMounts ?? []));
  expect(() => new Deployment(merged).validate()).not.toThrow();

  const flagOf = (variable: string) => variable.replace('SLUICE_', '').toLowerCase().replaceAll('_', '-');
  const names = guide.match(/\bSLUICE_[A-Z_]+\b/g) ?? [];
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !(flagOf(name) in SERVE_FLAGS))).toEqual([]);
  for (const { value = '' } of added?.env ?? []) {
    const mount = added?.volumeMounts?.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
    const volume = volumes?.find(({ name }) => name === mount?.name);
    const create = secrets.find((line) => line.includes(` ${volume?.secret?.secretName} `)) ?? '';
    const file = value.slice((mount?.mountPath.length ?? 0) + 1);
    // `kubectl create secret tls` always names the files tls.crt and tls.key.
    expect([file, create.includes(' tls ') || create.includes(`--from-file=${file}=`)]).toEqual([file, true]);
  }
});

test('systemd accepts the unit with the lines for secret files, and the commands install files where the unit expects them', () => {
  const unit = textOf('deploy/systemd/sluice.service');
  expect(unit).toContain('SLUICE_CONFIG=/etc/sluice/limits.yaml');
  expect(unit).toContain('EnvironmentFile=-/etc/sluice/environment');
  expect(systemd.join('\n')).toContain('deploy/limits/limits.yaml /etc/sluice/limits.yaml');
  const folder = temporaryFolder();
  const file = join(folder, 'sluice.service');
  writeFileSync(file, unit.replace('/usr/bin/sluice', process.execPath));
  mkdirSync(`${file}.d`);
  writeFileSync(join(`${file}.d`, 'override.conf'), dropIn);
  const { stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  expect(stderr.split('\n').filter((line) => /sluice\.service|override\.conf/.test(line))).toEqual([]);
});

test('Prometheus accepts the configuration in the guide, whose job has the name that the alert rules expect', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'prometheus.yml'), scraping);
  copyFileSync(join(root, 'deploy/monitoring/alerts.yaml'), join(folder, 'alerts.yaml'));
  execFileSync('promtool', ['check', 'config', join(folder, 'prometheus.yml')], { stdio: 'pipe' });
  const { scrape_configs: jobs } = parse(scraping) as { scrape_configs: { job_name: string }[] };
  const [, job] = /up\{job="(\w+)"\}/.exec(textOf('deploy/monitoring/alerts.yaml')) ?? [];
  expect(jobs.map(({ job_name }) => job_name)).toEqual([job]);
});

test('the guide explains exactly the alerts that exist', () => {
  const alerts = textOf('deploy/monitoring/alerts.yaml').match(/(?<=alert: )\w+/g) ?? [];
  const explained = [...guide.matchAll(/^\| `(Sluice\w+)` \| (.{30,}?) \| (.{30,}) \|$/gm)].map(
    ([, name]) => name,
  );
  expect(explained.toSorted()).toEqual(alerts.toSorted());
});
