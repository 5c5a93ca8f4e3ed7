/** Explains why a listener cannot be opened at its address. */
import { type Address, showAddress } from './listener.ts';

/** The reason for each error, and a remedy besides choosing another address. */
const REASONS: Readonly<Record<string, readonly [reason: string, remedy: string]>> = {
  EADDRINUSE: ['the address is already in use', 'Stop the other process, or'],
  EADDRNOTAVAIL: [
    'this machine does not have this address',
    'For all addresses of the machine, use 0.0.0.0, or',
  ],
  EACCES: [
    'the process is not permitted to use this port',
    'Ports below 1024 usually require root or the capability CAP_NET_BIND_SERVICE. Grant it, or',
  ],
  ENOTFOUND: ['the host name is unknown', 'Correct the name, or'],
};

/**
 * Returns an error whose message names the listener, its address and the flag that sets the address. Returns other errors
 * unchanged.
 */
export function listenError(error: unknown, listener: string, flag: string, address: Address): unknown {
  const { code, syscall } = error as { readonly code?: string; readonly syscall?: string };
  const [reason, remedy] = REASONS[code ?? ''] ?? [];
  // Opening a listener can also fail because one of its files cannot be read.
  if (reason === undefined || syscall === 'open') return error;
  const message = `the ${listener} listener cannot use ${showAddress(address)}: ${reason} (${code}). ${remedy} choose another address with --${flag}.`;
  return Object.assign(new Error(message, { cause: error }), { code });
}
