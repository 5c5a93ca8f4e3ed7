/** Shares one limit between several machines, in a DynamoDB table. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export { dynamodb, type DynamodbOptions } from './dynamodb.ts';
export type { DynamodbClient } from './service.ts';
export { type Migration, migration, type MigrationOptions } from './table.ts';
