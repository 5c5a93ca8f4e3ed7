export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient.ts';
export { ipc, type IpcOptions } from './ipc.ts';
