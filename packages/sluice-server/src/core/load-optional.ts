/** Loads packages that are needed only with some options, and may not be installed. */
import { UsageError } from '../config/usage-error.ts';

/**
 * Calls `load`. If it fails, rejects with a UsageError that says which packages to install. `feature` is the name of the
 * feature that needs the packages.
 */
export async function loadOptional<T>(feature: string, packages: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new UsageError(`${feature} needs ${packages}. Run \`npm install ${packages}\``, {
      cause: error,
    });
  }
}
