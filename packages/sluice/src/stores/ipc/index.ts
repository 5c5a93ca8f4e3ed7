/** Shares one limit between the processes of a machine, without Redis. */
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export { ipc, type IpcOptions } from './ipc.ts';
