// Deno KV as a store. A value there has at most 64 KiB: enough for anything but a sliding log of some thousand entries.
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
          // A versionstamp of null: there must be nothing.
          .check({ key: place, versionstamp: version ?? null })
          .set(place, value, { expireIn: expiresInMs })
          .commit();
        return result.ok;
      } catch (error) {
        // A local file that another process just writes to: nothing was written.
        if (error?.message === 'database is locked') return false;
        throw error;
      }
    },
  };
}
