/** Tests the RESP listener at the byte level. Real clients are tested in clients.test.ts. */
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import fc from 'fast-check';
import { memory, StoreUnavailable } from 'sluice';
import type { Hit } from 'sluice/store';
import { manualClock } from 'sluice/testing';
import { expect, test, vi } from 'vitest';
import { punctually, unpunctuality } from 'sluice-test-support/redis/watch.ts';
import { ProtocolError, RespParser } from '../../../src/listeners/resp/parser.ts';
import { openResp } from '../../../src/listeners/resp/resp.ts';
import { certificates, command, later, opened, socketTo, talk } from '../listeners.ts';

const LIMITS = `
limits:
  api: 10/min
  grün: 3/min
  soft: { policies: 1/min, shadow: true }
  tiered: { policies: 1/min, tiers: { pro: 100/min }, overrides: { friend: unlimited, foe: blocked } }
  model:
    policies: { requests: 10/h fixed-window, tokens: 100/h fixed-window }
    tiers: { pro: { requests: 20/h fixed-window, tokens: 100/h fixed-window } }
    classes: { batch: { keep: { requests: 0.3 } } }
`;

const PONG = '+PONG\r\n';
const cell = (...numbers: number[]): string => `*5\r\n${numbers.map((number) => `:${number}\r\n`).join('')}`;

test('CL.THROTTLE replies like redis-cell, whether the command is in upper or lower case', async () => {
  const { port } = await opened(openResp, LIMITS, { store: memory({ clock: manualClock(0) }) });
  const asked =
    command('CL.THROTTLE', 'k', '15', '30', '60') + command('cl.throttle', 'k', '15', '30', '60', '1');
  expect(await talk(port, asked)).toBe(cell(0, 16, 15, -1, 2) + cell(0, 16, 14, -1, 4));
});

test('THROTTLE checks a limit of the configuration, which all listeners share', async () => {
  const { port, core } = await opened(openResp, LIMITS, { store: memory({ clock: manualClock(0) }) });
  await core.take('api', 'jürgen', { cost: 4 });
  const key = Buffer.from('jürgen').toString('latin1');
  expect(await talk(port, command('THROTTLE', key, 'api', '5'))).toBe(cell(0, 10, 1, -1, 54));
  expect(await talk(port, command('throttle', key, 'api', '2'))).toBe(cell(1, 10, 1, 6, 54));
  expect(await talk(port, command('throttle', key, 'api', '0'))).toBe(cell(0, 10, 1, -1, 54));
  expect(await talk(port, command('throttle', key, 'api', '11'))).toBe(cell(1, 10, 1, -1, 54));
  const green = Buffer.from('grün').toString('latin1');
  expect(await talk(port, command('THROTTLE', 'k', green))).toBe(cell(0, 3, 2, -1, 20));
});

test('THROTTLE applies tiers, overrides and shadow mode', async () => {
  const { port } = await opened(openResp, LIMITS, { store: memory({ clock: manualClock(0) }) });
  const most = Number.MAX_SAFE_INTEGER;
  const ask = (...words: string[]): Promise<string> => talk(port, command('THROTTLE', ...words));
  expect(await ask('k', 'tiered', 'TIER', 'pro')).toBe(cell(0, 100, 99, -1, 1));
  expect(await ask('k', 'tiered', '5', 'tier', 'pro')).toBe(cell(0, 100, 94, -1, 4));
  expect(await ask('friend', 'tiered', '500')).toBe(cell(0, most, most, -1, 0));
  expect(await ask('foe', 'tiered')).toBe(cell(1, 0, 0, -1, -1));
  expect(await ask('k', 'soft', '1')).toBe(cell(0, 1, 0, -1, 60));
  expect(await ask('k', 'soft', '1')).toBe(cell(0, 1, 0, -1, 60));
});

test('with --shadow, CL.THROTTLE allows every call, and calls above the limit are counted as shadowed', async () => {
  const store = memory({ clock: manualClock(0) });
  const { port, core } = await opened(openResp, LIMITS, { store, shadow: true });
  const one = command('CL.THROTTLE', 'k', '0', '1', '60');
  expect(await talk(port, one + one)).toBe(cell(0, 1, 0, -1, 60).repeat(2));
  expect(core.metrics.text()).toContain('sluice_decisions_total{limit="cl.throttle",outcome="shadowed"} 1');
});

test.each<[string, string[]]>([
  ['-ERR unknown limit "nope"', ['throttle', 'k', 'nope']],
  ['-ERR cost must be a number', ['throttle', 'k', 'api', '-1']],
  ['-ERR cost must be a number', ['throttle', 'k', 'api', 'many']],
  ['-ERR cost must be a number', ['throttle', 'k', 'model', 'tokens']],
  ['-ERR cost must be a number', ['throttle', 'k', 'model', 'tokens=']],
  ['-ERR cost must be a number', ['throttle', 'k', 'model', '=1']],
  ['-ERR cost must be a number', ['throttle', 'k', 'model', 'tokens=-1']],
  ['-ERR cost must be a number', ['throttle', 'k', 'model', 'tokens=1,']],
  ['-ERR cost must be a number', ['throttle', 'k', 'model', 'tokens=1,tokens=1']],
  ['-ERR cost.tokns is not a policy of this limiter', ['throttle', 'k', 'model', 'tokns=1']],
  ['-ERR class must be one of these (batch)', ['throttle', 'k', 'model', '1', 'class', 'bulk']],
  ['-ERR syntax error', ['throttle', 'k', 'model', 'class', 'batch', 'class', 'batch']],
  ['-ERR syntax error', ['throttle', 'k', 'model', 'keep', '0.3']],
  ['-ERR syntax error', ['throttle', 'k', 'api', '1', 'tier']],
  ['-ERR tier', ['throttle', 'k', 'tiered', 'tier', 'nope']],
  ["-ERR wrong number of arguments for 'throttle' command", ['throttle', 'k']],
  ["-ERR wrong number of arguments for 'cl.throttle' command", ['cl.throttle', 'k', '1', '1']],
  ['-ERR CL.THROTTLE: not a whole number: x', ['cl.throttle', 'k', 'x', '1', '1']],
  ['-ERR CL.THROTTLE: count and period must not be 0', ['cl.throttle', 'k', '1', '0', '1']],
  ['-ERR key must not be empty', ['throttle.peek', '', 'api']],
  ['-ERR key must not be empty', ['throttle', '', 'api']],
  ['-ERR key must not be empty', ['throttle.many', '', 'api', '1']],
  ['-ERR key must have at most 1024 bytes', ['cl.throttle', 'k'.repeat(1025), '1', '1', '1']],
  ["-ERR unknown command 'get'", ['get', 'k']],
  ["-ERR unknown command 'flushall +OK'", ['flushall\r\n+OK']],
  ['-ERR invalid database index; the only database is 0', ['select', '1']],
  ['-ERR invalid database index', ['select', 'x']],
  ["-ERR unknown subcommand 'kill'", ['client', 'kill']],
  ['-ERR unrecognized option', ['client', 'setinfo', 'x', 'y']],
  ['-ERR client names', ['client', 'setname', 'a b']],
  ["-ERR unknown subcommand 'x'", ['command', 'x']],
  ['-NOPROTO', ['hello', '4']],
  ['-ERR protocol version', ['hello', 'x']],
  ['-ERR syntax error in HELLO', ['hello', '3', 'x']],
  ['-ERR AUTH was called without any password configured for the default user', ['auth', 'secret']],
])('a command that gets the reply %s leaves the connection open', async (start, words) => {
  const { port, log } = await opened(openResp, LIMITS);
  const [refusal, ...rest] = (await talk(port, command(...words) + command('PING'))).split('\r\n');
  expect([refusal?.slice(0, start.length), rest]).toEqual([start, ['+PONG', '']]);
  expect(log).toEqual([]);
});

test('THROTTLE charges by policy, and accepts a class and a tier in any order', async () => {
  const { port } = await opened(openResp, LIMITS, { store: memory({ clock: manualClock(0) }) });
  const throttle = (...words: string[]) => talk(port, command('throttle', 'k', 'model', ...words));
  // The replies show the policy with the fewest units left.
  expect(await throttle('requests=2,tokens=70')).toBe(cell(0, 10, 8, -1, 3600));
  expect(await throttle('tokens=31')).toMatch(/^\*5\r\n:1\r\n:100\r\n:30\r\n/);
  expect(await throttle('tokens=25.5')).toBe(cell(0, 100, 4, -1, 3600));
  expect(await throttle('requests=6,tokens=0', 'CLASS', 'batch')).toMatch(/^\*5\r\n:1\r\n/);
  expect(await throttle('requests=6,tokens=0')).toMatch(/^\*5\r\n:0\r\n/);
  expect(await throttle('requests=5,tokens=0', 'class', 'batch', 'tier', 'pro')).toMatch(/^\*5\r\n:0\r\n/);
  expect(await throttle('requests=5,tokens=0', 'tier', 'pro', 'class', 'batch')).toMatch(/^\*5\r\n:1\r\n/);
});

test('keys that are not valid UTF-8 are distinct from each other and from UTF-8 keys', async () => {
  const { port } = await opened(openResp, LIMITS);
  const keys = ['\xff', '\xfe', '\xc3', '\xc3\xbc', '\xef\xbf\xbd', '\x00\xff', ''];
  const answers = await talk(port, keys.map((key) => command('cl.throttle', key, '0', '1', '60')).join(''));
  expect(answers).toBe(cell(0, 1, 0, -1, 60).repeat(keys.length));
});

test('replies use the types of the selected protocol version', async () => {
  const { port } = await opened(openResp, LIMITS);
  const asked =
    command('client', 'getname') + command('command', 'info', 'nope') + command('info', 'replication');
  const info = '# Replication\r\nrole:master\r\nconnected_slaves:0\r\n';
  expect(await talk(port, asked)).toBe(`$-1\r\n*1\r\n$-1\r\n$${info.length}\r\n${info}\r\n`);
  const [hello = '', rest] = (await talk(port, command('hello', '3') + asked)).split(
    '$7\r\nmodules\r\n*0\r\n',
  );
  expect(hello).toMatch(/^%7\r\n\$6\r\nserver\r\n\$6\r\nsluice\r\n/);
  expect(hello).toContain('$5\r\nproto\r\n:3\r\n');
  expect(rest).toBe(`_\r\n*1\r\n_\r\n=${info.length + 4}\r\ntxt:${info}\r\n`);
  expect(await talk(port, command('hello'))).toMatch(/^\*14\r\n/);
});

test('a connection has a unique ID and the name that the client sets', async () => {
  const { port } = await opened(openResp, LIMITS);
  const asked = command('client', 'id') + command('client', 'setname', 'me') + command('client', 'getname');
  expect(await talk(port, asked)).toBe(':1\r\n+OK\r\n$2\r\nme\r\n');
  expect(await talk(port, command('hello', '2', 'setname', 'you') + command('client', 'info'))).toContain(
    'id=2 name=you resp=2',
  );
});

test('inline commands are accepted', async () => {
  const { port } = await opened(openResp, LIMITS, { store: memory({ clock: manualClock(0) }) });
  expect(await talk(port, 'PING\n')).toBe(PONG);
  expect(await talk(port, '\r\n  \r\n  ping \t hello \r\n')).toBe('$5\r\nhello\r\n');
  expect(await talk(port, 'cl.throttle k 15 30 60\r\n')).toBe(cell(0, 16, 15, -1, 2));
  expect(await talk(port, 'echo "a b\\x41\\n\\"\\\\"\r\n')).toBe('$7\r\na bA\n"\\\r\n');
  expect(await talk(port, "echo 'a \\'b\\''\r\n")).toBe("$5\r\na 'b'\r\n");
  expect(await talk(port, 'echo \xc3\xa0\xa0\r\n')).toBe('$3\r\n\xc3\xa0\xa0\r\n');
});

test.each([
  ['invalid multibulk length', '*x\r\n'],
  ['invalid multibulk length', '*1\rx'],
  ['invalid multibulk length', '*1025\r\n'],
  ['invalid multibulk length', '*99999999999999999999999'],
  ["expected '$', got '+'", '*1\r\n+OK\r\n'],
  ["expected '$', got '?'", '*1\r\n\r\n'],
  ['invalid bulk length', '*1\r\n$x\r\n'],
  ['invalid bulk length', '*1\r\n$-1\r\n'],
  ['invalid bulk length', '*1\r\n$-2\r\n'],
  ['invalid bulk length', '*1\r\n$-1073741824\r\n'],
  ['invalid bulk length', '*1\r\n$1048577\r\n'],
  ['invalid bulk length', '*2\r\n$4\r\nping\r\n$1048573\r\n'],
  ['an argument is longer than its declared length', '*1\r\n$4\r\npingpong'],
  ['unbalanced quotes in request', 'ping "x\r\n'],
  ['unbalanced quotes in request', `ping "${'\\x41'.repeat(4000)}\r\n`],
  ['unbalanced quotes in request', "ping 'x'y\r\n"],
  ['too big inline request', 'x'.repeat(16_385)],
  ['too many words', `${'x '.repeat(1025)}\r\n`],
])(
  'the protocol error "%s" is reported after the earlier replies, and the connection is closed',
  async (message, bytes) => {
    const { port } = await opened(openResp, LIMITS);
    const socket = socketTo(port);
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
    });
    socket.write(Buffer.from(`${command('PING')}${bytes}${command('PING')}`, 'latin1'));
    await once(socket, 'end');
    expect(heard).toBe(`${PONG}-ERR Protocol error: ${message}\r\n`);
  },
);

test.each([0, -1, -2, -1073741824, -999999999])(
  'a command that declares %i arguments is skipped, and the next command is answered',
  async (count) => {
    const { port } = await opened(openResp, LIMITS);
    expect(await talk(port, `*${count}\r\n${command('ping')}`)).toBe(PONG);
  },
);

test('the bytes of a command are counted across all its chunks', () => {
  const parser = new RespParser({ maxArguments: 10, maxBytes: 10 });
  for (let i = 0; i < 2; i++) {
    for (const chunk of ['*2\r\n$6\r\nabc', 'def\r\n$4\r\nghi']) {
      parser.push(chunk);
      expect(parser.next()).toBe(undefined);
    }
    parser.push('j\r\n');
    expect(parser.next()).toEqual(['abcdef', 'ghij']);
  }
  parser.push('*2\r\n$6\r\nabcdef\r\n');
  expect(parser.next()).toBe(undefined);
  parser.push('$5\r\n');
  expect(() => parser.next()).toThrow(new ProtocolError('invalid bulk length'));
});

test('a reply is not taken from the cache if it differs from the previous reply only in its limit', async () => {
  const { port } = await opened(openResp, LIMITS, { store: memory({ clock: manualClock(0) }) });
  const asked =
    command('CL.THROTTLE', 'a', '4', '10', '1') + command('CL.THROTTLE', 'b', '5', '10', '1', '2');
  expect(await talk(port, asked)).toBe(cell(0, 5, 4, -1, 1) + cell(0, 6, 4, -1, 1));
});

test('a length line that is too long is rejected before its end arrives', async () => {
  const { port } = await opened(openResp, LIMITS);
  const socket = socketTo(port);
  socket.write(`*${'0'.repeat(30)}`);
  const [heard] = (await once(socket, 'data')) as [Buffer];
  expect(heard.toString()).toBe('-ERR Protocol error: invalid multibulk length\r\n');
});

test('a key that is not valid UTF-8 is never mistaken for another key', async () => {
  const { port } = await opened(openResp, LIMITS, { store: memory({ clock: manualClock(0) }) });
  const ask = (bytes: string): Promise<string> => talk(port, command('THROTTLE', bytes, 'api', '10'));
  const used = cell(0, 10, 0, -1, 60);
  for (const bytes of ['\xff', '\xc3\xbf', '\xc3', '\xef\xbf\xbd']) expect(await ask(bytes)).toBe(used);
});

test('a client that does not close its connection after the last reply is disconnected', () =>
  punctually(1000, async () => {
    const { port } = await opened(openResp, LIMITS);
    const socket = socketTo(port);
    socket.write(command('QUIT'));
    await once(socket, 'data');
    const clients = async (): Promise<string> => talk(port, command('INFO', 'clients'));
    expect(await clients()).toContain('connected_clients:2');
    await vi.waitFor(async () => expect(await clients()).toContain('connected_clients:1'), {
      timeout: 10_000,
    });
  }));

test('commands inside an HTTP request are not executed, because a web page can make a browser send such a request', async () => {
  const { port } = await opened(openResp, LIMITS);
  const rest = ' / HTTP/1.1\r\nHost: localhost\r\n\r\nPING\r\n';
  expect(await talk(port, `POST${rest}`)).toBe("-ERR unknown command 'POST'\r\n");
  expect(await talk(port, `GET${rest}`)).toBe(
    "-ERR unknown command 'GET'\r\n-ERR unknown command 'Host:'\r\n",
  );
});

const words = fc.oneof(
  fc.constant(['PING']),
  fc.string({ maxLength: 2000 }).map((text) => ['echo', Buffer.from(text).toString('latin1')]),
  fc
    .integer({ min: 0, max: 9 })
    .map((key) => ['cl.throttle', `a key with some length ${key}`, '9', '1', '60']),
  fc.constant(['throttle', 'k', 'api']),
  fc.constant(['nope']),
);

test('the replies to a pipeline are the same, however the pipeline is split', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(words, { minLength: 1, maxLength: 30 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      async (asked, cuts) => {
        const text = asked.map((one) => command(...one)).join('');
        const places = [0, ...cuts.map((cut) => cut % text.length).sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((end, i) => text.slice(places[i], end));
        const fresh = async (parts: string[]): Promise<string> => {
          const { port, listener } = await opened(openResp, LIMITS, {
            store: memory({ clock: manualClock(0) }),
          });
          const heard = await talk(port, ...parts);
          await listener.drain(0);
          return heard;
        };
        expect(await fresh(pieces)).toBe(await fresh([text]));
      },
    ),
    { numRuns: 60 },
  );
});

test('a command that arrives byte by byte is parsed as one command', async () => {
  const { port } = await opened(openResp, LIMITS);
  const long = 'x'.repeat(3000);
  expect(await talk(port, ...command('echo', long).split(''))).toBe(`$3000\r\n${long}\r\n`);
});

test('replies keep the order of the commands even if the store answers out of order', async () => {
  const delays = [30, 5, 20, 0, 10];
  const store = later(memory({ clock: manualClock(0) }), () => delays.shift() ?? 0);
  const { port } = await opened(openResp, LIMITS, { store });
  const ask = command('throttle', 'k', 'api');
  const answers = [9, 8, 7, 6, 5].map((left, i) => cell(0, 10, left, -1, 6 * (i + 1)));
  expect(await talk(port, ask + command('PING') + ask + ask + command('nope') + ask + ask)).toBe(
    `${answers[0]}${PONG}${answers[1]}${answers[2]}-ERR unknown command 'nope'\r\n${answers[3]}${answers[4]}`,
  );
});

test('replies have the error code UNAVAILABLE while the store fails, and contain decisions when it works again', async () => {
  let isDown = true;
  const store = later(memory({ clock: manualClock(0) }), () =>
    isDown ? new StoreUnavailable('deadline') : 0,
  );
  const { port, log } = await opened(openResp, LIMITS, { store });
  expect(await talk(port, command('throttle', 'k', 'api'))).toMatch(
    /^-UNAVAILABLE the store is not available \(deadline\)/,
  );
  expect(await talk(port, command('cl.throttle', 'k', '1', '1', '1'))).toMatch(/^-UNAVAILABLE /);
  isDown = false;
  expect(await talk(port, command('throttle', 'k', 'api'))).toBe(cell(0, 10, 9, -1, 6));
  expect(log).toEqual([]);
});

test('an unexpected error is logged, and the client gets no details', async () => {
  const store = later(memory(), () => new TypeError('a secret'));
  const { port, log } = await opened(openResp, LIMITS, { store });
  expect(await talk(port, command('throttle', 'k', 'api') + command('PING'))).toBe(
    `-ERR internal server error\r\n${PONG}`,
  );
  expect(log.join()).toContain('a secret');
});

test('QUIT is answered, but commands after QUIT are not', async () => {
  const store = later(memory({ clock: manualClock(0) }), () => 20);
  const { port } = await opened(openResp, LIMITS, { store });
  const answer = await talk(port, command('throttle', 'k', 'api') + command('QUIT') + command('PING'));
  expect(answer).toBe(`${cell(0, 10, 9, -1, 6)}+OK\r\n`);
});

test('before authentication, commands are rejected, and large commands are not even read', async () => {
  const tokens = (): string[] => ['old', 'passwört'];
  const { port } = await opened(openResp, LIMITS, { tokens });
  const token = Buffer.from('passwört').toString('latin1');
  const ask = (...commands: string[][]): Promise<string> =>
    talk(port, commands.map((one) => command(...one)).join(''));
  const refused = '-NOAUTH Authentication required.\r\n';
  expect(await ask(['PING'], ['throttle', 'k', 'api'], ['nope'])).toBe(refused.repeat(3));
  expect(await ask(['auth', 'wrong'], ['auth', ''], ['PING'])).toMatch(
    /^-WRONGPASS .*\r\n-WRONGPASS .*\r\n-NOAUTH .*\r\n$/,
  );
  expect(await ask(['auth', token], ['PING'], ['auth', 'wrong'], ['PING'])).toMatch(
    /^\+OK\r\n\+PONG\r\n-WRONGPASS .*\r\n\+PONG\r\n$/,
  );
  expect(await ask(['auth', 'anybody', 'old'], ['PING'])).toBe(`+OK\r\n${PONG}`);
  expect(await ask(['hello', '3'], ['PING'])).toMatch(/^-NOAUTH .*\r\n-NOAUTH .*\r\n$/);
  expect(await ask(['hello', '3', 'auth', 'x', 'wrong'], ['PING'])).toMatch(
    /^-WRONGPASS .*\r\n-NOAUTH .*\r\n$/,
  );
  expect(await ask(['hello', '3', 'auth', 'x', 'old', 'setname', 'n'], ['PING'])).toMatch(
    /^%7\r\n[\s\S]*\+PONG\r\n$/,
  );
  const long = 'x'.repeat(5000);
  expect(await ask(['PING'], ['auth', long])).toBe(`${refused}-ERR Protocol error: invalid bulk length\r\n`);
  expect(await ask(['auth', 'old'], ['echo', long])).toHaveLength(5 + 5009);
});

test('the server stops reading from a client that does not read its replies, and later sends all replies', async () => {
  const { port } = await opened(openResp, LIMITS);
  const socket = socketTo(port);
  const asked = 600;
  const big = 'x'.repeat(100_000);
  for (let i = 0; i < asked; i++) socket.write(command('echo', big));
  let answers = 0;
  for (let before = -1, looks = 0; before < answers; looks++) {
    before = answers;
    await new Promise((resolve) => setTimeout(resolve, 300));
    answers = (await answersOf(port)) - looks;
  }
  // The replies total 60 MB. The server has sent only what fits into the kernel's buffers.
  expect(answers).toBeLessThan(asked / 2);
  let heard = 0;
  socket.on('data', (chunk) => {
    heard += chunk.length;
  });
  socket.end();
  await once(socket, 'end');
  expect(heard).toBe(asked * `$${big.length}\r\n${big}\r\n`.length);
}, 60_000);

test('a client that stops sending and reads later still gets all replies', async () => {
  const { port } = await opened(openResp, LIMITS);
  const one = (await talk(port, 'COMMAND DOCS\n')).length;
  const socket = socketTo(port);
  // The server reads all commands immediately; the replies exceed the kernel's buffers by far.
  const asked = 4900;
  socket.end('COMMAND DOCS\n'.repeat(asked));
  await new Promise((resolve) => setTimeout(resolve, 500));
  let heard = 0;
  socket.on('data', (chunk) => {
    heard += chunk.length;
  });
  await once(socket, 'end');
  expect(heard).toBe(asked * one);
}, 60_000);

test.each([0, 1])(
  'a client that stops sending gets all replies even if the store answers %s ms later',
  async (delay) => {
    const store = memory({ clock: manualClock(0) });
    const asked = 5000;
    const soon =
      delay === 0 ? { ...store, apply: async (hit: Hit) => store.apply(hit) } : later(store, () => delay);
    const { port } = await opened(openResp, LIMITS, { store: soon });
    const socket = socketTo(port);
    socket.end(command('throttle', 'k', 'api').repeat(asked));
    await new Promise((resolve) => setTimeout(resolve, 300));
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString();
    });
    await once(socket, 'end');
    expect(heard.split('*5').length - 1).toBe(asked);
  },
);

async function answersOf(port: number): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await talk(port, command('info', 'stats')))?.[1]);
}

test('the number of commands in progress is bounded while the store does not answer', async () => {
  let asked = 0;
  const never = later(memory(), () => {
    asked++;
    return 1e6;
  });
  const { port } = await opened(openResp, LIMITS, { store: never });
  const socket = socketTo(port);
  socket.write(command('throttle', 'k', 'api').repeat(100_000));
  await vi.waitFor(() => expect(asked).toBe(1000), { timeout: 10_000 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(asked).toBe(1000);
});

test('the total size of replies that wait for an earlier reply is bounded', async () => {
  const inner = memory({ clock: manualClock(0) });
  let answer = (): void => {};
  const told = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const store: typeof inner = { ...inner, apply: (hit) => told.then(() => inner.apply(hit)) as never };
  const { port } = await opened(openResp, LIMITS, { store });
  const socket = socketTo(port);
  let heard = 0;
  socket.on('data', (chunk) => {
    heard += chunk.length;
  });
  const big = command('echo', 'x'.repeat(100_000));
  socket.write(command('throttle', 'k', 'api'));
  for (let i = 0; i < 100; i++) socket.write(big);
  let looks = 0;
  const processed = async (): Promise<number> => (await answersOf(port)) - looks++;
  await vi.waitFor(async () => expect(await processed()).toBe(11), { timeout: 10_000 });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([heard, await processed()]).toEqual([0, 11]);
  answer();
  socket.end();
  await once(socket, 'end');
  expect(heard).toBe(cell(0, 10, 9, -1, 6).length + 100 * '$100000\r\n\r\n'.length + 100 * 100_000);
});

test('the listener answers commands from 4000 simultaneous connections', async () => {
  const { port } = await opened(openResp, LIMITS);
  const sockets = Array.from({ length: 4000 }, () => socketTo(port));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write('PING\r\n');
  const answers = await Promise.all(sockets.map(async (socket) => String((await once(socket, 'data'))[0])));
  expect(new Set(answers)).toEqual(new Set([PONG]));
  expect(await talk(port, command('info', 'clients'))).toContain('connected_clients:4001');
  for (const socket of sockets) socket.destroy();
}, 60_000);

test('arbitrary bytes may end the connection, but the next connection is served', async () => {
  const { port, log } = await opened(openResp, LIMITS);
  const start = fc.constantFrom(
    '',
    '*',
    '*1\r\n$',
    '*3\r\n$8\r\nthrottle\r\n',
    'PING\r\n',
    '$',
    '*-1\r\n',
    '"',
    "'",
  );
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    fc
      .array(
        fc.constantFrom(
          '*',
          '$',
          '\r\n',
          '\r',
          '\n',
          '-',
          '1',
          '2',
          '3',
          '99',
          'PING',
          'AUTH',
          'HELLO',
          ' ',
          '"',
          '\0',
          '\xff',
        ),
        { maxLength: 200 },
      )
      .map((parts) => parts.join('')),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(start, noise), { minLength: 1, maxLength: 4 }), async (parts) => {
      await talk(port, ...parts.map(([before, after]) => before + after));
      expect(await talk(port, 'PING\r\n')).toBe(PONG);
    }),
    { numRuns: 300 },
  );
  expect(log).toEqual([]);
}, 60_000);

test('a draining listener answers received commands, closes idle connections and refuses new ones', async () => {
  let asked = 0;
  const store = later(memory({ clock: manualClock(0) }), () => {
    asked++;
    return 150;
  });
  const { port, listener } = await opened(openResp, LIMITS, { store });
  const [busy, silent] = [socketTo(port), socketTo(port)];
  await Promise.all([once(busy, 'connect'), once(silent, 'connect')]);
  let heard = '';
  busy.on('data', (chunk) => {
    heard += chunk.toString();
  });
  silent.resume();
  busy.write(command('throttle', 'k', 'api').repeat(3));
  await vi.waitFor(() => expect(asked).toBe(3), { timeout: 10_000, interval: 5 });
  const drained = listener.drain(5000);
  const ends = [busy, silent].map((socket) => once(socket, 'end').then(() => socket.end()));
  await Promise.all([drained, ...ends]);
  expect(heard).toBe(cell(0, 10, 9, -1, 6) + cell(0, 10, 8, -1, 12) + cell(0, 10, 7, -1, 18));
  expect(await talk(port, 'PING\r\n')).toBe('');
});

test('a draining server closes a connection with FIN after a grace period, even if the client sends a command after each reply', async () => {
  const { port, listener } = await opened(openResp, LIMITS);
  const socket = socketTo(port);
  await once(socket, 'connect');
  const drained = listener.drain(5000);
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk.toString();
    socket.write(command('PING'));
  });
  socket.write(command('PING') + command('PING'));
  await once(socket, 'end');
  expect(heard.length).toBeGreaterThan(PONG.length * 2);
  expect(heard.replaceAll(PONG, '')).toBe('');
  socket.end();
  await drained;
});

test('every take that is counted while the listener drains under load is answered', async () => {
  let counted = 0;
  const store = later(memory(), () => {
    counted++;
    return counted % 3;
  });
  const { port, listener } = await opened(openResp, LIMITS, { store });
  let answered = 0;
  const known = new Set<number>();
  const clients = Array.from({ length: 30 }, async (_, i) => {
    const socket = socketTo(port);
    const ask = command('throttle', `k${i}`, 'api').repeat((i % 5) + 1);
    socket.on('data', (chunk) => {
      const answers = chunk.toString().split('*5\r\n').length - 1;
      answered += answers;
      known.add(i);
      if (!socket.writableEnded) socket.write(ask);
    });
    socket.write(ask);
    await once(socket, 'end');
    socket.end();
  });
  // Wait until the server has accepted all connections, because closing the listening socket also closes connections that wait there.
  await vi.waitFor(() => expect([known.size, counted > 500]).toEqual([30, true]), { timeout: 20_000 });
  await Promise.all([listener.drain(5000), ...clients]);
  expect(answered).toBe(counted);
});

test('connections that are still open after the drain timeout are closed', async () => {
  const { port, listener } = await opened(openResp, LIMITS, { store: later(memory(), () => 60_000) });
  const socket = socketTo(port);
  socket.write(command('throttle', 'k', 'api'));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const ended = once(socket.resume(), 'end');
  const start = performance.now();
  const late = unpunctuality();
  await listener.drain(100);
  await ended;
  expect(performance.now() - start - late.total()).toBeLessThan(2000);
  late.stop();
});

test('clients need a certificate over TLS if a certificate authority for clients is configured', async () => {
  const { ca, cert, key, clientCert, clientKey } = certificates();
  const { port } = await opened(openResp, LIMITS, { tls: { cert, key, ca } });
  const ask = (own: object): Promise<string> =>
    new Promise((resolve) => {
      const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca, ...own });
      socket.on('error', () => resolve('refused'));
      socket.on('data', (data) => {
        resolve(String(data));
        socket.destroy();
      });
      socket.write('PING\r\n');
    });
  expect(await ask({ cert: clientCert, key: clientKey })).toBe(PONG);
  expect(await ask({})).toBe('refused');
  expect(await talk(port, 'PING\r\n')).not.toContain('PONG');
});

test('a connection that completes its TLS handshake while the listener drains is closed like any other connection', async () => {
  const { ca, cert, key } = certificates();
  const { port, listener } = await opened(openResp, LIMITS, { tls: { cert, key } });
  const socket = socketTo(port);
  await once(socket, 'connect');
  await new Promise((resolve) => setTimeout(resolve, 50));
  const late = unpunctuality();
  const start = performance.now();
  const drained = listener.drain(20_000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const secure = connectTls({ socket, servername: 'localhost', ca });
  await once(secure, 'secureConnect');
  await once(secure.resume(), 'end');
  secure.end();
  await drained;
  expect(performance.now() - start - late.total()).toBeLessThan(5000);
  late.stop();
});

test('opening a listener on a port that is in use fails', async () => {
  const { listener } = await opened(openResp, LIMITS);
  await expect(opened(openResp, LIMITS, { address: listener.address })).rejects.toThrow('EADDRINUSE');
});

test('decisions and replies are counted in the metrics', async () => {
  const { port, core } = await opened(openResp, LIMITS);
  await talk(
    port,
    command('cl.throttle', 'k', '0', '1', '60').repeat(3) + command('throttle', 'k', 'api') + command('x'),
  );
  const text = core.metrics.text();
  for (const line of [
    'sluice_decisions_total{limit="cl.throttle",outcome="allowed"} 1',
    'sluice_decisions_total{limit="cl.throttle",outcome="denied"} 2',
    'sluice_decisions_total{limit="api",outcome="allowed"} 1',
    'sluice_requests_total{listener="resp",route="cl.throttle",code="ok"} 3',
    'sluice_requests_total{listener="resp",route="unknown",code="error"} 1',
  ])
    expect(text).toContain(line);
});
