// @ts-check
// Stands in for a language model: a server that answers with one word per token, and a client for it.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const WORDS = ['the', 'sky', 'scatters', 'blue', 'light', 'most'];

/** Starts the server on a free port. It answers the prompt 'fail' with status 500. */
export async function startModel() {
  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  async function answer(request, response) {
    const { prompt, isStream } = /** @type {{ prompt: string; isStream: boolean }} */ (await json(request));
    if (prompt === 'fail') return void response.writeHead(500).end();
    if (!isStream) return void response.end(JSON.stringify({ text: WORDS.join(' '), tokens: WORDS.length }));
    for (const word of WORDS) {
      if (response.destroyed) return; // The client has aborted the request.
      response.write(word);
      await sleep(30);
    }
    response.end();
  }
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address?.port}`;

  /** @param {string} prompt @param {boolean} isStream @param {AbortSignal} [signal] */
  async function post(prompt, isStream, signal) {
    const body = JSON.stringify({ prompt, isStream });
    const response = await fetch(url, { method: 'POST', body, signal: signal ?? null });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return response;
  }

  /** Returns the words as they arrive. @param {string} prompt @param {AbortSignal} signal */
  async function* stream(prompt, signal) {
    const { body } = await post(prompt, true, signal);
    for await (const chunk of body ?? []) yield new TextDecoder().decode(chunk);
  }

  return {
    /** Returns the whole answer. @param {string} prompt */
    ask: async (prompt) =>
      /** @type {{ text: string; tokens: number }} */ (await (await post(prompt, false)).json()),
    stream,
    stop: () => server.close().closeAllConnections(),
  };
}
