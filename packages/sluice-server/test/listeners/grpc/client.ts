/** gRPC clients for tests, with the server's message definitions or with the definitions that Envoy publishes. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type CallOptions,
  ChannelCredentials,
  Client,
  type ClientReadableStream,
  Metadata,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import {
  loadSync,
  type MessageTypeDefinition,
  type Options,
  type PackageDefinition,
} from '@grpc/proto-loader';
import { onTestFinished } from 'vitest';

const OPTIONS = { defaults: true, arrays: true, enums: String, longs: Number };

const own = loadSync(['ratelimit.proto', 'health.proto'], {
  ...OPTIONS,
  includeDirs: [fileURLToPath(new URL('../../../proto', import.meta.url))],
});

/** Loads one of Envoy's proto files, as shipped with grpc-js-xds. These files lack some newer fields. */
function envoys(file: string, options: Options): PackageDefinition {
  const require = createRequire(import.meta.url);
  const index = require.resolve('@grpc/grpc-js-xds');
  const deps = join(dirname(dirname(dirname(index))), 'deps');
  const includeDirs = ['envoy-api', 'xds', 'protoc-gen-validate', 'googleapis'].map((name) =>
    join(deps, name),
  );
  return loadSync(file, { ...options, includeDirs });
}

export function envoysOwn(): ServiceDefinition {
  const loaded = envoys('envoy/service/ratelimit/v3/rls.proto', OPTIONS);
  return loaded['envoy.service.ratelimit.v3.RateLimitService'] as ServiceDefinition;
}

/** A message type of Envoy, with field names as in Envoy's configuration. */
export function envoysMessage(file: string, name: string): MessageTypeDefinition<object, object> {
  return envoys(file, { keepCase: true, enums: String })[name] as MessageTypeDefinition<object, object>;
}

export const RATE_LIMIT = own['envoy.service.ratelimit.v3.RateLimitService'] as ServiceDefinition;
export const HEALTH = own['grpc.health.v1.Health'] as ServiceDefinition;

// biome-ignore lint/suspicious/noExplicitAny: responses are compared as a whole
export type Answer = any;

export interface TestClient {
  readonly call: (
    method: string,
    request: object,
    options?: CallOptions & { readonly token?: string; readonly traceparent?: string },
  ) => Promise<Answer>;
  /** Calls a method with arbitrary bytes instead of a message. */
  readonly send: (method: string, bytes: Uint8Array) => Promise<Answer>;
  readonly watch: (request: object) => ClientReadableStream<Answer>;
}

export function clientOf(
  port: number,
  service: ServiceDefinition,
  credentials = ChannelCredentials.createInsecure(),
): TestClient {
  const client = new Client(`localhost:${port}`, credentials, { 'grpc.enable_retries': 0 });
  onTestFinished(() => client.close());
  const rpc = (name: string) => {
    const method = service[name];
    if (method === undefined) throw new Error(`there is no ${name}`);
    return method;
  };
  return {
    call: (name, request, { token, traceparent, ...options } = {}) =>
      new Promise((resolve, reject) => {
        const { path, requestSerialize, responseDeserialize } = rpc(name);
        const metadata = new Metadata();
        if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
        if (traceparent !== undefined) metadata.set('traceparent', traceparent);
        const done = (error: Error | null, value: unknown): void =>
          error === null ? resolve(value) : reject(error);
        client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          metadata,
          options,
          done,
        );
      }),
    send: (name, bytes) =>
      new Promise((resolve, reject) => {
        const { path, responseDeserialize } = rpc(name);
        const done = (error: Error | null, value: unknown): void =>
          error === null ? resolve(value) : reject(error);
        client.makeUnaryRequest(path, () => Buffer.from(bytes), responseDeserialize, {}, done);
      }),
    watch: (request) => {
      const { path, requestSerialize, responseDeserialize } = rpc('Watch');
      return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
    },
  };
}
