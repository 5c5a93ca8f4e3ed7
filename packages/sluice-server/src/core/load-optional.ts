/** Packages that are needed only with some options, and may not be installed. */
import { UsageError } from '../config/usage-error.ts';

/** Rejects with a UsageError that says which packages to install. `feature` is what needs them. */
export async function loadOptional<T>(feature: string, packages: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new UsageError(`${feature} needs ${packages}: npm install ${packages}`, { cause: error });
  }
}
