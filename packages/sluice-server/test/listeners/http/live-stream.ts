/** A client for GET /live. */
import { expect, onTestFinished } from 'vitest';

interface Heard {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

export interface Listener {
  next(name: string): Promise<Record<string, unknown>>;
  readonly ended: Promise<void>;
  close(): void;
}

/** Parses events while the stream is being received. */
export async function listen(url: string, headers: Record<string, string> = {}): Promise<Listener> {
  const control = new AbortController();
  onTestFinished(() => control.abort());
  const response = await fetch(`${url}/live`, { headers, signal: control.signal });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const events: Heard[] = [];
  let wake = (): void => {};
  const ended = (async () => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      const texts = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
      rest = texts.pop() ?? '';
      for (const text of texts) {
        const [, name = '', data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(text) ?? [];
        events.push({ name, data: JSON.parse(data) as Heard['data'] });
      }
      wake();
    }
  })().catch(() => {});
  return {
    ended,
    close: () => control.abort(),
    async next(name) {
      for (;;) {
        const at = events.findIndex((event) => event.name === name);
        if (at >= 0) return (events.splice(0, at + 1).at(-1) as Heard).data;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
