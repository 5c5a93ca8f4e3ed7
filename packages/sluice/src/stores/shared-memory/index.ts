export {
  type AttachOptions,
  attachSharedMemory,
  sharedMemory,
  type SharedMemoryHandle,
  type SharedMemoryOptions,
  type SharedMemoryStore,
} from './shared-memory.ts';
