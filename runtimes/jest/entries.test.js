// Runs in Jest without a transform, as the tests of a CommonJS application do. entries.json lists the names that each entry exports.
const entries = Object.entries(require('./entries.json'));

test.each(entries)('%s exports the listed names', (entry, names) => {
  const found = Object.keys(require(entry)).filter((name) => name !== '__esModule');
  expect(found.sort()).toEqual(names);
});

test('the limiter follows the fake timers of Jest', async () => {
  const { createLimiter, SluiceError } = require('sluice');
  jest.useFakeTimers();
  const limiter = createLimiter('1/min');
  expect([limiter.take('alice').allowed, limiter.take('alice').retryAfter]).toEqual([true, 60_000]);
  const waiting = limiter.acquire('alice');
  await jest.advanceTimersByTimeAsync(60_000);
  expect((await waiting).allowed).toBe(true);
  jest.useRealTimers();
  expect(() => createLimiter('many/min')).toThrow(SluiceError);
});
