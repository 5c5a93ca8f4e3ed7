/** Opens listeners for tests on a free port, with limits written in YAML. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Decision, memory, type Store } from 'sluice';
import { onTestFinished } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { type Core, type CoreOptions, createCore } from '../../src/core/core.ts';
import type { Listener, ListenerOptions, OpenListener } from '../../src/listeners/listener.ts';
import { createLog } from '../../src/log.ts';

export interface Opened {
  readonly core: Core;
  readonly listener: Listener;
  readonly port: number;
  /** Log lines of the listener. A test that expects no errors checks that this list is empty. */
  readonly log: string[];
}

type OpenedOptions = Partial<ListenerOptions> & Partial<CoreOptions>;

/** Opens a listener and closes it after the test. */
export async function opened(open: OpenListener, yaml: string, options: OpenedOptions = {}): Promise<Opened> {
  const own = await openedForFile(open, yaml, options);
  onTestFinished(() => own.listener.drain(0));
  return own;
}

/** Opens a listener that several tests use. The caller closes it. */
export async function openedForFile(
  open: OpenListener,
  yaml: string,
  options: OpenedOptions = {},
): Promise<Opened> {
  const { store = memory(), shadow, maxCost, requestPolicies, ...rest } = options;
  const log: string[] = [];
  const core = createCore(parseConfig([{ file: 'limits.yaml', text: yaml }]), {
    store,
    shadow,
    maxCost,
    requestPolicies,
  });
  const listener = await open(core, {
    address: { host: '127.0.0.1', port: 0 },
    maxMessage: 1024 * 1024,
    maxKey: 1024,
    log: createLog((line) => log.push(line)),
    isHealthy: () => true,
    ...rest,
  });
  return { core, listener, port: listener.address.port, log };
}

/**
 * Wraps a store. The store decides synchronously, but the wrapper resolves only after `delay`, or rejects with the error that
 * `delay` returns.
 */
export function later(store: Store, delay: () => number | Error): Store {
  return {
    clock: store.clock,
    close: () => store.close(),
    apply(hit) {
      const wait = delay();
      if (wait instanceof Error) return Promise.reject(wait);
      const decision = store.apply(hit) as Decision;
      return new Promise((resolve) => setTimeout(() => resolve(decision), wait));
    },
  };
}

export function socketTo(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => socket.destroy());
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Sends the given pieces and ends the connection. Returns everything received until the server closes it. */
export async function talk(port: number, ...pieces: (string | Uint8Array)[]): Promise<string> {
  const socket = socketTo(port);
  const heard: Buffer[] = [];
  socket.on('data', (chunk) => heard.push(chunk));
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.on('end', () => socket.end());
  for (const piece of pieces) {
    if (socket.writableEnded) break;
    socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
    if (pieces.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  await closed;
  return Buffer.concat(heard).toString('latin1');
}

/** Encodes a command as clients do. */
export function command(...words: string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

/** Creates a certificate authority, and certificates that it issues for localhost and for a client. */
export function certificates(): Record<'ca' | 'cert' | 'key' | 'clientCert' | 'clientKey', string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'));
  const openssl = (...args: string[]): unknown =>
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const pair = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  openssl('req', '-x509', ...pair, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=test authority');
  for (const name of ['server', 'client']) {
    openssl(
      'req',
      '-x509',
      '-CA',
      'ca.crt',
      '-CAkey',
      'ca.key',
      ...pair,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
      '-subj',
      `/CN=${name}`,
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
      '-addext',
      'basicConstraints=critical,CA:false',
    );
  }
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const found = {
    ca: read('ca.crt'),
    cert: read('server.crt'),
    key: read('server.key'),
    clientCert: read('client.crt'),
    clientKey: read('client.key'),
  };
  rmSync(folder, { recursive: true });
  return found;
}
