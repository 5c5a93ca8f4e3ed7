/** Warns about setups that work, but most likely not as intended. Warnings never change a decision. */

interface Host {
  readonly process?: {
    emitWarning?(message: string, options: { type: string; code: string }): void;
  };
}

/** Codes that were already reported, by the object that the warning is about. */
const reported = new WeakMap<object, Set<string>>();

/**
 * Warns once for each code and object, such as a store. Uses `process.emitWarning` where it exists, so that Node's flags and
 * listeners apply, and otherwise the console. `docs/warnings.md` explains each code.
 */
export function warnOnce(code: `SLUICE_${string}`, message: string, about: object = globalThis): void {
  const codes = reported.get(about) ?? new Set();
  if (codes.has(code)) return;
  reported.set(about, codes.add(code));
  const { process } = globalThis as Host;
  if (process?.emitWarning === undefined) console.warn(`${code}: ${message}`);
  else process.emitWarning(message, { type: 'SluiceWarning', code });
}
