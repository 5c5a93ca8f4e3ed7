/**
 * ShouldRateLimit without protobuf: messages are bytes. Used by the echo server, and by the call that records Sluice's answer for
 * the echo.
 */
import { createRequire } from 'node:module';

/** The version of grpc-js that the server uses. */
export const grpc = createRequire(new URL('../../packages/sluice-server/package.json', import.meta.url))(
  '@grpc/grpc-js',
);

const asIs = (bytes) => bytes;

export const ECHO = {
  path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
  requestStream: false,
  responseStream: false,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
};

/** A request with one descriptor of one entry. */
export function requestMessage(domain, key, value) {
  const field = (number, ...parts) => {
    const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
    return Buffer.from([(number << 3) | 2, bytes.length, ...bytes]);
  };
  const entry = field(1, field(1, key), field(2, value));
  return Buffer.concat([field(1, domain), field(2, entry)]);
}

/** The bytes of the answer to one call. */
export function callOnce(port, message) {
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(ECHO.path, asIs, asIs, message, (error, answer) => {
      client.close();
      if (error) reject(error);
      else resolve(answer);
    });
  });
}
