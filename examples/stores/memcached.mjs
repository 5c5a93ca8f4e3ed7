// @ts-check
// Memcached (1.6 or newer) as a store, with a client of forty lines for its meta commands.
//
//   import { casStore, createLimiter } from 'sluice';
//
//   const store = casStore(memcached({ port: 11211 }));
//   const limiter = createLimiter('100/min', { store, name: 'api' });
//
// A full server evicts rows before they are fully replenished, so give it enough memory, or start it with -M.

import { connect } from 'node:net';

const MONTH = 30 * 86_400;

/** @param {import('node:net').NetConnectOpts} address @returns {import('sluice/store').CasService<string> & { close(): void }} */
export function memcached(address) {
  const { ask, close } = connection(address);
  return {
    close,
    async get(key) {
      const { line, data } = await ask(`mg ${key} v c`);
      return line === 'EN' ? undefined : { value: data, version: / c(\d+)/.exec(line)?.[1] ?? '' };
    },
    async put(key, value, version, expiresInMs) {
      // The server reads its clock about once a second and counts whole seconds, so it may be two seconds behind, or more when it
      // is busy.
      const seconds = Math.ceil(expiresInMs / 1000) + 3;
      // Memcached treats larger numbers as timestamps.
      const expiry = seconds > MONTH ? Math.ceil(Date.now() / 1000) + seconds : seconds;
      // Adds the row, or replaces it if it has this version. HD means written; EX, NF and NS mean not written.
      const condition = version === undefined ? 'ME' : `C${version}`;
      const { line } = await ask(`ms ${key} ${value.length} T${expiry} ${condition}`, value);
      if (/^(HD|EX|NF|NS)/.test(line)) return line.startsWith('HD');
      throw new Error(line);
    },
  };
}

/** A connection to the server. Replies arrive in the order of the commands. @param {import('node:net').NetConnectOpts} address */
function connection(address) {
  /** @type {import('node:net').Socket | undefined} */
  let socket;
  /** @type {{ resolve(reply: { line: string, data: Buffer }): void, reject(error: unknown): void }[]} */
  let waiting = [];
  let read = Buffer.alloc(0);

  function open() {
    const opened = connect(address).setNoDelay().unref();
    opened.on('data', (chunk) => {
      read = Buffer.concat([read, chunk]);
      for (let end = read.indexOf('\r\n'); end >= 0; end = read.indexOf('\r\n')) {
        const line = read.toString('latin1', 0, end);
        const size = /^VA (\d+)/.exec(line)?.[1];
        const length = size === undefined ? end + 2 : end + 2 + Number(size) + 2;
        if (read.length < length) return;
        waiting.shift()?.resolve({ line, data: read.subarray(end + 2, length - 2) });
        read = read.subarray(length);
      }
    });
    let cause = new Error('connection closed');
    opened.on('error', (error) => {
      cause = error;
    });
    opened.on('close', () => {
      for (const caller of waiting) caller.reject(cause);
      [socket, waiting, read] = [undefined, [], Buffer.alloc(0)];
    });
    return opened;
  }

  return {
    /** @param {string} command @param {Uint8Array} [value] @returns {Promise<{ line: string, data: Buffer }>} */
    ask: (command, value) =>
      new Promise((resolve, reject) => {
        socket ??= open();
        waiting.push({ resolve, reject });
        socket.write(
          value === undefined
            ? `${command}\r\n`
            : Buffer.concat([Buffer.from(`${command}\r\n`), value, Buffer.from('\r\n')]),
        );
      }),
    close: () => void socket?.destroy(),
  };
}
