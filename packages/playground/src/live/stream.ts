/** Reads server-sent events with fetch, because EventSource cannot send a token. Reconnects until it is closed. */
import type { Millis } from 'sluice';

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  | { readonly kind: 'lost'; readonly why: string }
  /** The server refused the stream, because the token is missing or invalid. */
  | { readonly kind: 'refused'; readonly why: string }
  /** The page was not served by a Sluice server, so there is no stream of events. */
  | { readonly kind: 'absent' };

export interface StreamOptions {
  readonly url: string;
  readonly token: () => string;
  readonly onEvent: (name: string, data: string) => void;
  readonly onConnection: (connection: Connection) => void;
}

export interface Stream {
  /** Reconnects immediately instead of after a pause. */
  retry(): void;
  close(): void;
}

/** The connection counts as lost after this time without an event. */
const SILENCE: Millis = 5000;
const FIRST_PAUSE: Millis = 500;
const LONGEST_PAUSE: Millis = 5000;

export function openStream({ url, token, onEvent, onConnection }: StreamOptions): Stream {
  let isClosed = false;
  let pause = FIRST_PAUSE;
  let attempt: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function connect(): Promise<void> {
    clearTimeout(timer);
    const own = new AbortController();
    attempt?.abort();
    attempt = own;
    const connection = await follow(own).catch((error: unknown) => lost(error));
    if (isClosed || attempt !== own) return;
    onConnection(connection);
    if (connection.kind !== 'lost') return;
    timer = setTimeout(connect, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }

  /** Reads the stream until it ends, and returns why it ended. */
  async function follow(own: AbortController): Promise<Connection> {
    let alarm = setTimeout(() => own.abort(), SILENCE);
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' };
      if (token() !== '') headers['Authorization'] = `Bearer ${token()}`;
      const response = await fetch(url, { headers, cache: 'no-store', signal: own.signal });
      if (response.status === 401 || response.status === 403)
        return { kind: 'refused', why: await problemOf(response) };
      const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream') === true;
      if (response.status === 404 || (response.ok && !isStream)) return { kind: 'absent' };
      if (!response.ok || response.body === null) return { kind: 'lost', why: await problemOf(response) };
      onConnection({ kind: 'open' });
      const parse = eventParser(onEvent);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return { kind: 'lost', why: 'the server closed the stream' };
        clearTimeout(alarm);
        alarm = setTimeout(() => own.abort(), SILENCE);
        pause = FIRST_PAUSE;
        parse(value);
      }
    } finally {
      clearTimeout(alarm);
    }
  }

  onConnection({ kind: 'connecting' });
  void connect();
  return {
    retry() {
      pause = FIRST_PAUSE;
      void connect();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      attempt?.abort();
    },
  };
}

function lost(error: unknown): Connection {
  const isSilent = error instanceof DOMException && error.name === 'AbortError';
  return { kind: 'lost', why: isSilent ? 'the server sends no events' : 'the server does not respond' };
}

/** Parses events from text that arrives in pieces, and calls back with each complete event. */
export function eventParser(onEvent: (name: string, data: string) => void): (piece: string) => void {
  let rest = '';
  /**
   * Whether the last piece ended with a carriage return. A line feed at the start of the next piece belongs to the same line
   * break.
   */
  let isReturned = false;
  let name = '';
  let data: string[] = [];
  return (piece) => {
    if (piece === '') return;
    const lines = (rest + (isReturned ? piece.replace(/^\n/, '') : piece)).split(/\r\n|\n|\r/);
    rest = lines.pop() as string;
    isReturned = piece.endsWith('\r');
    for (const line of lines) {
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (line === '') {
        if (data.length > 0) onEvent(name || 'message', data.join('\n'));
        name = '';
        data = [];
      } else if (field === 'event') name = value;
      else if (field === 'data') data.push(value);
    }
  };
}

/** The message in a response's problem details. */
export async function problemOf(response: Response): Promise<string> {
  const plain = `${response.status} ${response.statusText}`.trim();
  try {
    const { detail, title } = (await response.json()) as { detail?: string; title?: string };
    return detail ?? title ?? plain;
  } catch {
    return plain;
  }
}
