/** Calls the server's operations peek, reset and block. */
import { type LimitAnswer, numbersOf } from './answer.ts';
import { problemOf } from './stream.ts';
import { token } from './watch.ts';

export type KeyVerb = 'peek' | 'reset' | 'block';

export async function ask(
  verb: KeyVerb,
  question: { readonly limit: string; readonly key: string; readonly duration?: string },
): Promise<LimitAnswer> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (token.peek() !== '') headers['Authorization'] = `Bearer ${token.peek()}`;
  const response = await fetch(`v1/${verb}`, { method: 'POST', headers, body: JSON.stringify(question) });
  if (!response.ok) throw new Error(await problemOf(response));
  return numbersOf(await response.json());
}
