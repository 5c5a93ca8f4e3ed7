// A Cloudflare Durable Object as a store. The object's storage keeps the rows, so a limit outlives the object's memory. The
// limiter is in the object, and a Worker sends requests to it.
//
//   const id = env.LIMITS.idFromName('api');            // one object for all keys, or one per key
//   const decision = await (await env.LIMITS.get(id).fetch(`https://limits/?key=${user}`)).json();

import { casStore, createLimiter } from 'sluice';

/** @param storage `ctx.storage` of a Durable Object */
export function durableStorage(storage) {
  return {
    get: (key) => storage.get(key),
    put: (key, value, version, expiresInMs) =>
      storage.transaction(async (rows) => {
        if ((await rows.get(key))?.version !== version) return false;
        const expires = Date.now() + expiresInMs;
        await rows.put(key, { value, version: crypto.randomUUID(), expires });
        return true;
      }),
  };
}

export class Limits {
  constructor({ storage }) {
    this.storage = storage;
    this.limiter = createLimiter('100/h', { store: casStore(durableStorage(storage)), name: 'api' });
  }

  async fetch(request) {
    if ((await this.storage.getAlarm()) === null) await this.storage.setAlarm(Date.now() + 3_600_000);
    return Response.json(await this.limiter.take(new URL(request.url).searchParams.get('key') ?? ''));
  }

  /** Deletes expired rows, because storage has no expiry of its own. */
  async alarm() {
    const rows = [...(await this.storage.list())].filter(([, { expires }]) => expires < Date.now());
    for (const [key] of rows) await this.storage.delete(key);
  }
}
