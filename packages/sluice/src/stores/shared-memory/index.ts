/** Shares one limit between all worker threads of a process. */
export {
  type AttachOptions,
  attachSharedMemory,
  sharedMemory,
  type SharedMemoryHandle,
  type SharedMemoryOptions,
  type SharedMemoryStore,
} from './shared-memory.ts';
