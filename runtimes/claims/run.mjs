// Runs claims without a test framework. A claim is a name and a function that throws if the claim is false.

/**
 * @typedef {{ readonly name: string, readonly run: () => unknown }} Claim
 * @typedef {{ readonly passed: string[], readonly failed: string[] }} Results
 */

/** @param {readonly Claim[]} claims @returns {Promise<Results>} */
export async function judged(claims) {
  /** @type {Results} */
  const results = { passed: [], failed: [] };
  for (const { name, run } of claims)
    try {
      await run();
      results.passed.push(name);
    } catch (error) {
      results.failed.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  return results;
}

/** @param {unknown} actual @param {unknown} expected */
export function same(actual, expected) {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(`found ${found} instead of ${wanted}`);
}

/** @param {unknown} text @param {RegExp} pattern */
export function matches(text, pattern) {
  if (!pattern.test(String(text))) throw new Error(`${String(text)} does not match ${pattern}`);
}

/** The error that a call throws or rejects with. @param {() => unknown} call @returns {Promise<any>} */
export async function thrown(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
