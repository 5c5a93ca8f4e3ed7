/** Calls the server's operations for keys. */
import { type LimitAnswer, numbersOf } from './answer.ts';
import { problemOf } from './stream.ts';
import { token } from './watch.ts';

export type KeyVerb = 'peek' | 'reset' | 'block';

export interface Question {
  readonly limit: string;
  readonly key: string;
  readonly duration?: string;
}

export async function ask(verb: KeyVerb, question: Question): Promise<LimitAnswer> {
  return numbersOf(await send(verb, question));
}

/** Sends a list of operations in one request. */
export async function askAll(verb: 'take' | 'reset', questions: readonly Question[]): Promise<LimitAnswer[]> {
  return ((await send(verb, questions)) as unknown[]).map(numbersOf);
}

async function send(verb: string, body: Question | readonly Question[]): Promise<unknown> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (token.peek() !== '') headers['Authorization'] = `Bearer ${token.peek()}`;
  const response = await fetch(`v1/${verb}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await problemOf(response));
  return response.json();
}
