/**
 * Performs the steps of a Dockerfile without a container engine. Each stage has its own folder in place of a root file system,
 * and its commands run as a user without privileges.
 */
import { execFileSync } from 'node:child_process';
import { chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { type Copy, DockerfileParser, type Env, type From, type JSONInstruction } from 'dockerfile-ast';

export interface Image {
  /** Folder that contains all stages; the caller deletes it. */
  readonly folder: string;
  /** Folder that takes the place of the image's root file system. */
  readonly root: string;
  /** Working directory of the image, inside `root`. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** `USER` of the image. */
  readonly user: string;
  /** Arguments of `node`: those of ENTRYPOINT, followed by those of CMD. */
  readonly command: readonly string[];
  /** Arguments of `node` for the health check. */
  readonly healthcheck: readonly string[];
}

/** The user of the commands. Only root can switch to another user; other users already have no privileges. */
export const asUser: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {};

interface Stage {
  readonly root: string;
  cwd: string;
  /** Folder that takes the place of the working directory, if the stage is not performed. */
  readonly given: string | undefined;
}

/**
 * Builds the last stage of a Dockerfile. `given` maps names of stages that are too slow for a test to folders that take the
 * place of their working directories.
 */
export function buildImage(
  dockerfile: string,
  context: string,
  given: Readonly<Record<string, string>>,
): Image {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-image-'));
  own(folder);
  const stages = new Map<string, Stage>();
  let stage: Stage = { root: folder, cwd: '/', given: undefined };
  let env: Record<string, string> = {};
  let user = 'root';
  let [entrypoint, command, healthcheck]: string[][] = [[], [], []];

  /** The path on this machine that stands for a path in a stage. */
  const place = ({ root, cwd, given: other }: Stage, path: string): string =>
    other === undefined ? join(root, resolve(cwd, path)) : join(other, relative(cwd, resolve(cwd, path)));

  for (const step of DockerfileParser.parse(readFileSync(dockerfile, 'utf8')).getInstructions()) {
    const keyword = step.getKeyword();
    if (keyword === 'FROM') {
      const name = (step as From).getBuildStage() ?? 'final';
      stage = { root: join(folder, name), cwd: '/', given: given[name] };
      stages.set(name, stage);
      folderFor(stage.root);
      [env, user] = [{}, 'root'];
      continue;
    }
    if (stage.given !== undefined && keyword !== 'WORKDIR') continue;
    const words = step.getArguments().map((word) => word.getValue());
    switch (keyword) {
      case 'WORKDIR':
        stage.cwd = resolve(stage.cwd, words[0]);
        // A given folder belongs to the caller, so its owner must not change.
        if (stage.given === undefined) folderFor(place(stage, '.'));
        break;
      case 'COPY': {
        const from = (step as Copy).getFromFlag()?.getValue();
        const source = from ? stages.get(from) : undefined;
        const sources = words
          .slice(0, -1)
          .map((path) => (source ? place(source, path) : join(context, path)));
        const target = words.at(-1) ?? '';
        const isFolder = sources.length > 1 || target.endsWith('/');
        for (const path of sources) copy(path, place(stage, target), isFolder);
        break;
      }
      case 'RUN':
        run('sh', ['-c', step.getArgumentsContent() ?? ''], place(stage, '.'), folder);
        break;
      case 'ENV':
        for (const one of (step as Env).getProperties()) env[one.getName()] = one.getValue() ?? '';
        break;
      case 'USER':
        user = words[0];
        break;
      case 'ENTRYPOINT':
        entrypoint = exec(step as JSONInstruction);
        break;
      case 'CMD':
        command = exec(step as JSONInstruction);
        break;
      case 'HEALTHCHECK':
        healthcheck = JSON.parse(/CMD (\[.*\])$/s.exec(step.getArgumentsContent() ?? '')?.[1] ?? '[]');
        break;
      case 'ARG':
      case 'EXPOSE':
        break;
      default:
        throw new Error(`the test cannot perform ${keyword}; extend buildImage`);
    }
  }
  const [program, ...rest] = [...entrypoint, ...command];
  if (program !== 'node' || healthcheck.shift() !== 'node') throw new Error('the image must start node');
  const inside = (word: string): string => (word.startsWith('/') ? join(stage.root, word) : word);
  return {
    folder,
    root: stage.root,
    cwd: place(stage, '.'),
    env,
    user,
    command: rest.map(inside),
    healthcheck,
  };
}

/** Runs a command of the image as a user without privileges, with a home folder of its own. */
function run(program: string, args: readonly string[], cwd: string, home: string): void {
  const env = { PATH: process.env['PATH'], HOME: home };
  execFileSync(program, args, { cwd, env, stdio: 'pipe', ...asUser });
}

function exec(step: JSONInstruction): string[] {
  return step.getJSONStrings().map((word) => word.getJSONValue());
}

/** Copies like Docker: the content of a folder, or a file into a folder. */
function copy(from: string, to: string, isFolder: boolean): void {
  const target = statSync(from).isFile() && isFolder ? join(to, basename(from)) : to;
  cpSync(from, target, { recursive: true, verbatimSymlinks: true });
  if (asUser.uid !== undefined) execFileSync('chown', ['-R', `${asUser.uid}:${asUser.gid}`, to]);
}

function folderFor(path: string): void {
  mkdirSync(path, { recursive: true });
  own(path);
}

function own(path: string): void {
  if (asUser.uid !== undefined && asUser.gid !== undefined) chownSync(path, asUser.uid, asUser.gid);
}
