/** Flags of probes and of the request log. */
import type { ServerOptions } from '../server-options.ts';
import type { Args, Flags } from './args.ts';

export const OBSERVE_FLAGS: Flags = {
  'probe-http': {
    value: 'HOST:PORT',
    help: 'address of a plain HTTP listener for /livez, /readyz and /metrics, without TLS and tokens; default none',
  },
  'log-denials': {
    value: 'N',
    help: 'log up to N denials per second, with hashed keys; default 0',
  },
};

export function observeOf(args: Args): Pick<ServerOptions, 'probe' | 'logDenials'> {
  return { probe: args.address('probe-http'), logDenials: args.integer('log-denials') };
}
