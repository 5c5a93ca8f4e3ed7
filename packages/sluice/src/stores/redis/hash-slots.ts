/**
 * Finds the node of a Redis Cluster that serves a key, if the client knows it. The store needs to know the node because each node
 * has its own circuit breaker.
 */
import type { Client } from './connections.ts';

const SLOTS = 16_384;

/** Table of the checksum CRC16 (XMODEM), whose polynomial is 0x1021. */
const CRC = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** The slot of a key, or of its hash tag if it has one. */
export function slotOf(key: string): number {
  const start = key.indexOf('{') + 1;
  const end = start > 0 ? key.indexOf('}', start) : -1;
  const bytes = Buffer.from(end > start ? key.slice(start, end) : key);
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ CRC[(crc >> 8) ^ byte];
  return crc % SLOTS;
}

/**
 * The nodes of a slot, as the client's `slots` property lists them. They are addresses in ioredis and iovalkey, and objects in
 * node-redis.
 */
type Master = readonly string[] | { readonly master?: { readonly address?: string } } | undefined;

/** Returns a function that gives the address of a key's node, or undefined while the client does not know it. */
export function nodeIn(client: Client): (key: string) => string | undefined {
  return (key) => {
    const served = (client['slots'] as readonly Master[] | undefined)?.[slotOf(key)];
    return served === undefined || 'master' in served
      ? served?.master?.address
      : (served as readonly string[])[0];
  };
}
