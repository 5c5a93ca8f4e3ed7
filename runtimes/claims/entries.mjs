// Every entry of the package, loaded by the runtime: the test writes the file that imports them.

/** What is in a module, and what should be. @param {Record<string, readonly [module: object, names: readonly string[]]>} entries @returns {readonly import('./run.mjs').Claim[]} */
export const claimsOf = (entries) =>
  Object.entries(entries).map(([name, [module, names]]) => ({
    name,
    run() {
      const found = Object.keys(module).toSorted();
      if (found.join() !== names.join()) throw new Error(`has ${found.join()} in place of ${names.join()}`);
    },
  }));
