/** The flags of `sluice serve`. */
import { FAILURE_ANSWERS } from '../config/model.ts';
import { LEVELS } from '../log.ts';
import type { Flags } from './args.ts';
import { OBSERVE_FLAGS } from './observe-flags.ts';
import { TELEMETRY_FLAGS } from './telemetry-flags.ts';

export const LOG_FORMATS = ['json', 'text'] as const;

export const SERVE_FLAGS: Flags = {
  config: {
    isMain: true,
    value: 'FILE',
    many: true,
    help: 'YAML file with limits, or a folder of such files; can be repeated',
  },
  'merge-domains': { help: 'let several files define the same domain, and merge its descriptors' },
  http: {
    isMain: true,
    value: 'HOST:PORT',
    help: 'address of the HTTP listener; default 127.0.0.1:8080 if no listener is given. If HOST is omitted, it is 127.0.0.1',
    shortHelp: 'HTTP listener; default 127.0.0.1:8080 if no listener is given',
  },
  grpc: {
    isMain: true,
    value: 'HOST:PORT',
    help: "address of the gRPC listener (Envoy's rate limit service); default 127.0.0.1:8081 if no listener is given",
    shortHelp: 'gRPC listener for Envoy; default 127.0.0.1:8081 if no listener is given',
  },
  resp: {
    isMain: true,
    value: 'HOST:PORT',
    help: 'address of the RESP listener (CL.THROTTLE for Redis clients); default 127.0.0.1:6380 if no listener is given',
    shortHelp: 'RESP listener for Redis clients; default 127.0.0.1:6380 if none is given',
  },
  store: {
    isMain: true,
    value: 'URL',
    help: 'memory (default), redis://…, redis+cluster://…, redis+sentinel://…, postgres://…',
    shortHelp: 'memory (default), or a URL such as redis://… or postgres://…',
  },
  'store-ca': {
    value: 'FILE',
    help: 'Redis with TLS: trust certificates issued by this authority (PEM) instead of those that Node trusts',
  },
  'store-cert': { value: 'FILE', help: 'Redis with TLS: client certificate chain (PEM)' },
  'store-key': { value: 'FILE', help: 'Redis with TLS: private key of the client certificate (PEM)' },
  'max-keys': {
    value: 'N',
    help: 'memory store: maximum number of keys per limit, or infinity; default 1000000',
  },
  'key-prefix': {
    value: 'TEXT',
    help: 'text before all keys in Redis or Postgres; servers with different prefixes count separately',
  },
  leased: {
    value: 'N',
    help: 'lease units from the store; N is the approximate number of servers that share the store',
  },
  deadline: { value: 'TIME', help: 'timeout for a check in the store; default 200ms' },
  'on-failure': {
    isMain: true,
    value: 'ANSWER',
    choices: FAILURE_ANSWERS,
    help: 'while the store is unavailable: local (default, this server decides alone), throw (503), allow or deny',
    shortHelp: 'while the store is down: local (default), throw (503), allow or deny',
  },
  'deny-cache': { help: 'answer repeated denials from memory for up to 2 s' },
  shadow: { isMain: true, help: 'evaluate and count limits as usual, but never deny a request' },
  'http-token-file': {
    rejectsEmpty: true,
    isMain: true,
    value: 'FILE',
    help: 'file with tokens for the HTTP listener, one per line, each optionally followed by verbs= and limits=; or set SLUICE_HTTP_TOKEN',
    shortHelp: 'file with tokens for the HTTP listener; or set SLUICE_HTTP_TOKEN',
  },
  'admin-token-file': {
    rejectsEmpty: true,
    value: 'FILE',
    help: 'file with tokens that may also reset and block keys, on every listener; or set SLUICE_ADMIN_TOKEN',
  },
  'allow-admin-without-token': {
    help: 'if no token is configured, let local requests reset and block keys; not safe behind a proxy',
  },
  remote: {
    help: "accept hits from the library's remote() store and decide them with this server's store; needs an admin token",
  },
  'trust-proxy': {
    value: 'WHICH',
    help: "proxies to trust for the client's address: a number, CIDRs, loopback or private; default none",
  },
  'key-header': {
    value: 'NAME',
    help: 'header with the key of GET /v1/forward-auth, such as X-Real-IP; your proxy must overwrite it',
  },
  'limit-header': {
    value: 'NAME',
    help: 'header with the limit of GET /v1/forward-auth; your proxy must overwrite it',
  },
  'grpc-token-file': {
    rejectsEmpty: true,
    value: 'FILE',
    help: 'file with tokens for the gRPC listener; or set SLUICE_GRPC_TOKEN',
  },
  'resp-token-file': {
    rejectsEmpty: true,
    value: 'FILE',
    help: 'file with tokens for the RESP listener (AUTH); or set SLUICE_RESP_TOKEN',
  },
  'tls-cert': { isMain: true, value: 'FILE', help: 'enable TLS with this certificate chain (PEM)' },
  'tls-key': { isMain: true, value: 'FILE', help: 'private key of the certificate (PEM)' },
  'tls-client-ca': {
    rejectsEmpty: true,
    value: 'FILE',
    help: 'require client certificates issued by this authority (PEM)',
  },
  'max-connections': { value: 'N', help: 'maximum number of connections per listener; default 10000' },
  'idle-timeout': {
    value: 'TIME',
    help: 'close RESP and gRPC connections after this long without a request; default 10m, 0 for never',
  },
  'keep-alive': {
    value: 'TIME',
    help: 'close HTTP connections after this long without a request; default 60s, 0 for never',
  },
  'max-cost': {
    value: 'N',
    help: 'maximum number of units that one call may charge or give back; default: the limit of each policy',
  },
  'request-policies': {
    value: 'N',
    help: 'accept up to N different limits in requests, such as "policies": "10/s burst 20"; default 0',
  },
  'max-message': { value: 'BYTES', help: 'maximum size of a request; default 1048576' },
  'max-key': { value: 'BYTES', help: 'maximum length of a key; default 1024' },
  'near-ratio': {
    value: 'SHARE',
    help: 'fraction of a limit above which metrics count a take as near the limit; default 0.8',
  },
  'top-keys': {
    value: 'N',
    help: 'how many of the most denied keys to show in the metrics (default none) and on the page (default 20, at most 20); 0 hides them in both',
  },
  page: {
    value: 'FOLDER',
    help: 'folder of the page to serve at /, or none to serve no page; default: the built-in page',
  },
  ...TELEMETRY_FLAGS,
  ...OBSERVE_FLAGS,
  'no-watch': { help: 'do not watch the files; reload them only on SIGHUP' },
  'drain-delay': {
    value: 'TIME',
    help: 'after SIGTERM, keep accepting connections for this long while /healthcheck fails; default 0',
  },
  'drain-timeout': {
    value: 'TIME',
    help: 'while shutting down, close connections that are still open after this long; default 10s',
  },
  'log-level': { value: 'LEVEL', choices: LEVELS, help: 'debug, info (default), warn or error' },
  'log-format': { value: 'FORMAT', choices: LOG_FORMATS, help: 'json or text; default text on a terminal' },
};
