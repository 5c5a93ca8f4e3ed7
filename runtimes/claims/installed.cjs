// Requires and imports the packages as a package manager has installed them, and prints what it found.
const { createLimiter } = require('sluice');
const { redis } = require('sluice/redis');
const { RateLimiterMemory } = require('sluice-compat/rate-limiter-flexible');

async function main() {
  const modules = await import('sluice');
  const { remainingPoints } = await new RateLimiterMemory({ points: 5, duration: 60 }).consume('alice', 2);
  const store = redis(
    { send: () => Promise.reject(new Error('connect ECONNREFUSED')) },
    { onFailure: 'allow' },
  );
  const { source } = await modules.createLimiter('1/h', { store, name: 'api' }).take('alice');
  console.log(JSON.stringify([createLimiter('1/h').take('alice').allowed, remainingPoints, source]));
}

void main();
