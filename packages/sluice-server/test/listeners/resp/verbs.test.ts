/** Tests the RESP commands for verbs other than take. */
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { expect, test } from 'vitest';
import { openResp } from '../../../src/listeners/resp/resp.ts';
import { command, opened, talk } from '../listeners.ts';

const LIMITS = `
limits:
  api: 3/min
  user: 2/min
  paced: 60/min burst 1
  calls: { policies: { algorithm: concurrency, limit: 2, lease: 1m } }
  model: { policies: { requests: 10/min, tokens: 1000/min }, tiers: { pro: { requests: 20/min, tokens: 5000/min } } }
`;

/** Sends command lines, and returns each reply as a list of integers or as the text of an error. */
async function ask(...lines: string[]): Promise<(number[] | string)[]> {
  const options = { store: memory({ clock: manualClock() }), adminWithoutToken: true };
  const { port } = await opened(openResp, LIMITS, options);
  const replies = await talk(port, lines.map((line) => command(...line.split(' '))).join(''));
  return replies
    .split(/(?=[*-][A-Z\d]+(?:\r| ))(?<=^|\n)/)
    .map((reply) =>
      reply.startsWith('-') ? reply.trim() : [...reply.matchAll(/:(-?\d+)/g)].map(([, n]) => Number(n)),
    );
}

test('THROTTLE.PEEK charges nothing, and THROTTLE.REFUND gives units back', async () => {
  expect(
    await ask(
      'THROTTLE a api 2',
      'THROTTLE.PEEK a api 2',
      'THROTTLE.PEEK a api',
      'THROTTLE.REFUND a api 2',
      'THROTTLE a api 3',
    ),
  ).toEqual([
    [0, 3, 1, -1, 40],
    [1, 3, 1, 20, 40],
    [0, 3, 1, -1, 40],
    [0, 3, 3, -1, 0],
    [0, 3, 0, -1, 60],
  ]);
});

test('THROTTLE.RESERVE adds the delay in milliseconds to its reply, or -1 if nothing was booked', async () => {
  expect(
    await ask(
      'THROTTLE.RESERVE a paced',
      'THROTTLE.RESERVE a paced',
      'THROTTLE.RESERVE a paced 1 MAXDELAY 500',
    ),
  ).toEqual([
    [0, 1, 0, -1, 1, 0],
    [0, 1, 0, -1, 2, 1000],
    [1, 1, 0, 2, 2, -1],
  ]);
});

test('THROTTLE.SETTLE corrects a charge, with costs by policy and tiers', async () => {
  const replies = await ask(
    'THROTTLE a model requests=1,tokens=400',
    'THROTTLE.SETTLE a model requests=1,tokens=400 tokens=150',
    'THROTTLE.PEEK a model requests=1,tokens=850',
    'THROTTLE.PEEK a model requests=1,tokens=851',
    'THROTTLE.SETTLE a model 0 5 TIER pro',
  );
  expect(replies.slice(2).map((reply) => reply[0])).toEqual([0, 1, 0]);
  expect(replies[4]).toEqual([0, 20, 14, -1, 18]);
});

test('THROTTLE.RELEASE frees a place', async () => {
  expect(await ask('THROTTLE a calls 2', 'THROTTLE.RELEASE a calls', 'THROTTLE.PEEK a calls')).toEqual([
    [0, 2, 0, -1, 60],
    [0, 2, 1, -1, 60],
    [0, 2, 1, -1, 60],
  ]);
});

test('THROTTLE.MANY charges all items or none, and replies whether they were decided in one step', async () => {
  expect(
    await ask('THROTTLE.MANY a api 1 a user 2', 'THROTTLE.MANY a api 1 a user 1', 'THROTTLE.PEEK a api'),
  ).toEqual([
    [0, 2, 0, -1, 60, 1],
    [1, 2, 0, 30, 60, 1],
    [0, 3, 2, -1, 20],
  ]);
});

test('THROTTLE.BLOCK, THROTTLE.UNBLOCK and THROTTLE.RESET act on a key', async () => {
  expect(
    await ask(
      'THROTTLE a api 3',
      'THROTTLE.BLOCK a api 600000',
      'THROTTLE a api',
      'THROTTLE.UNBLOCK a api',
      'THROTTLE.RESET a api',
    ),
  ).toEqual([
    [0, 3, 0, -1, 60],
    [1, 3, 0, 600, 600],
    [1, 3, 0, 600, 600],
    [1, 3, 0, 20, 60],
    [0, 3, 3, -1, 0],
  ]);
});

test.each([
  ['THROTTLE.REFUND a api 4', '-ERR cost must be at most 3, the limit of policy "default"'],
  ['THROTTLE.RELEASE a calls 3', '-ERR cost must be at most 2'],
  ['THROTTLE.SETTLE a api 4 0', '-ERR charged - used must be at most 3'],
  ['THROTTLE.SETTLE a api 4', "-ERR wrong number of arguments for 'throttle.settle' command"],
  ['THROTTLE.SETTLE a api 1 x', '-ERR cost must be a number'],
  ['THROTTLE.SETTLE a api 1 1 TIER', '-ERR '],
  ['THROTTLE.RESERVE a paced 1 MAXDELAY 60001', '-ERR maxDelay must be at most 60000 ms'],
  [
    'THROTTLE.RESERVE a paced 1 MAXDELAY soon',
    "-ERR MAXDELAY must be an integer, in milliseconds; got 'soon'",
  ],
  ['THROTTLE.REFUND a api 1 CLASS x', '-ERR syntax error'],
  ['THROTTLE.MANY a api 1 a user', '-ERR syntax error; each item consists of a key, a limit and a cost'],
  ['THROTTLE.MANY a api 1 a none 1', '-ERR unknown limit "none"'],
  ['THROTTLE.BLOCK a api 0', "-ERR the duration must be an integer above 0, in milliseconds; got '0'"],
  ['THROTTLE.RESET a none', '-ERR unknown limit "none"'],
  ['CL.THROTTLE a 1 30 60 -3', '-ERR cost must be at most 2'],
])('%s is an error that changes nothing', async (line, error) => {
  const [, refused, after] = await ask('THROTTLE a api 2', line, 'THROTTLE.PEEK a api');
  expect(String(refused).startsWith(error)).toBe(true);
  expect(after).toEqual([0, 3, 1, -1, 40]);
});
