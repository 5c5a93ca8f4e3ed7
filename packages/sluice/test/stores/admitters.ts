/** Processes that take from a user, a team and an organization with takeMany, concurrently on one server. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll } from 'vitest';

/** Number of concurrent callers in each process. */
const LANES = 64;

/** What one process reports about a round. */
export interface Answer {
  readonly admitted: number;
  readonly denials: Readonly<Record<string, number>>;
  readonly atomic: number;
}

/**
 * Starts the processes before the tests and ends them afterwards. Returns a function that runs a round, in which every process makes
 * a call for each of `calls` users. `user` and `team` are their limits.
 */
export function admitters(
  count: number,
  argsOf: () => readonly string[],
): (round: string, calls: number, user: number, team: number) => Promise<readonly Answer[]> {
  let children: readonly ChildProcess[] = [];
  beforeAll(async () => {
    const program = new URL('./admitter.mjs', import.meta.url);
    children = Array.from({ length: count }, () => fork(program, argsOf()));
    await Promise.all(children.map((child) => once(child, 'message')));
  }, 60_000);
  afterAll(() => {
    for (const child of children) child.kill();
  });
  return (round, calls, user, team) =>
    Promise.all(
      children.map(async (child) => {
        child.send({ round, lanes: LANES, calls, user, team });
        return (await once(child, 'message'))[0] as Answer;
      }),
    );
}

/** Adds up a number of all processes. */
export function sum(answers: readonly Answer[], of: (answer: Answer) => number): number {
  return answers.reduce((total, answer) => total + of(answer), 0);
}
