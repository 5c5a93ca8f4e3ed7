// Deno KV as a store. A value may have at most 64 KiB, which is enough for everything except a sliding log of several thousand
// entries.
//
//   import { casStore, createLimiter } from 'npm:sluice';
//
//   const store = casStore(denoKv(await Deno.openKv()));
//   const limiter = createLimiter('100/min', { store, name: 'api' });

/** @param kv what `Deno.openKv()` resolves to */
export function denoKv(kv) {
  return {
    async get(key) {
      const { value, versionstamp } = await kv.get(['sluice', key]);
      return value === null ? undefined : { value, version: versionstamp };
    },
    async put(key, value, version, expiresInMs) {
      const place = ['sluice', key];
      try {
        const result = await kv
          .atomic()
          // A versionstamp of null means that the key must not exist.
          .check({ key: place, versionstamp: version ?? null })
          .set(place, value, { expireIn: expiresInMs })
          .commit();
        return result.ok;
      } catch (error) {
        // Another process is writing to the local file, so nothing was written.
        if (error?.message === 'database is locked') return false;
        throw error;
      }
    },
  };
}
