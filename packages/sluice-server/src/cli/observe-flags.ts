/** Flags of probes and of the request log. */
import type { Log } from '../log.ts';
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

/** Warns if the flag's address has no host, because such a listener accepts connections only from this machine. */
export function warnWithoutHost(args: Args, flag: string, listener: string, log: Log): void {
  const given = args.text(flag) ?? '';
  if (/^:?\d+$/.test(given))
    log.warn('no host given, so only this machine can connect; for all interfaces, use 0.0.0.0:PORT', {
      listener,
      given,
    });
}

export function observeOf(args: Args, log: Log): Pick<ServerOptions, 'probe' | 'logDenials'> {
  warnWithoutHost(args, 'probe-http', 'probe', log);
  return { probe: args.address('probe-http'), logDenials: args.integer('log-denials') };
}
