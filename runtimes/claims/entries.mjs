// Tests that the runtime can load every entry of the package. The test generates the file that imports the entries.

/** Claims that each module exports exactly the listed names. @param {Record<string, readonly [module: object, names: readonly string[]]>} entries @returns {readonly import('./run.mjs').Claim[]} */
export const claimsOf = (entries) =>
  Object.entries(entries).map(([name, [module, names]]) => ({
    name,
    run() {
      const found = Object.keys(module).toSorted();
      if (found.join() !== names.join())
        throw new Error(`exports ${found.join()} instead of ${names.join()}`);
    },
  }));
