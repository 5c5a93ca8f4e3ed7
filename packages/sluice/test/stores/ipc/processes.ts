/** Processes that check over one socket. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';

export interface Task {
  readonly limit: number;
  readonly key: string;
  readonly lanes: number;
  readonly checks: number;
}

export interface Answer {
  readonly admitted: number;
  /** How often each source of decisions or error code was seen. */
  readonly sources: Readonly<Record<string, number>>;
  /** The longest check in milliseconds. */
  readonly slowest: number;
  /** The longest delay of a timer in the process, in milliseconds. */
  readonly lateness: number;
}

export interface Checker {
  readonly child: ChildProcess;
  ask<T = Answer>(task: Task): Promise<T>;
}

const children = new Set<ChildProcess>();
const folders = new Set<string>();

afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
  children.clear();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders.clear();
});

export function socketPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  folders.add(folder);
  return join(folder, 'limits.sock');
}

export async function checker(options: object, file = 'process.mjs', env = {}): Promise<Checker> {
  const child = fork(new URL(`./${file}`, import.meta.url), {
    env: { ...process.env, ...env, IPC: JSON.stringify(options) },
  });
  children.add(child);
  child.on('error', () => {});
  await once(child, 'message');
  return {
    child,
    async ask(task) {
      child.send(task);
      return (await once(child, 'message'))[0];
    },
  };
}
