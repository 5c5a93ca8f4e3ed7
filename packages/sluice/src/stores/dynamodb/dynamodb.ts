/** The store on DynamoDB. */
import type { Decision, Millis, Store } from '../../engine/contract.ts';
import type { Duration } from '../../internal/duration.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { serviceStore } from '../cas/cas.ts';
import { deadlineOf, GUARDED, type GuardedOptions } from '../cas/guarded.ts';
import { backendOf } from '../cas/table.ts';
import { type DynamodbClient, dynamodbService } from './service.ts';
import { tableName } from './table.ts';

export interface DynamodbOptions extends GuardedOptions {
  /** How long a check may take. Default one second. */
  readonly deadline?: Duration | undefined;
  /** The name or ARN of the table. Default 'sluice'. */
  readonly table?: string | undefined;
}

/**
 * The default deadline of a check. A check is a read and a write, which usually take a few milliseconds each, so the deadline
 * leaves time for retries.
 */
const DEADLINE: Millis = 1000;

/** Creates a store on DynamoDB that uses your client. The store never destroys the client. */
export function dynamodb(client: DynamodbClient, options: DynamodbOptions = {}): Store<Promise<Decision>> {
  const { table = 'sluice', ...rest } = checkOptionNames('dynamodb', options, [...GUARDED, 'table']);
  checkClient(client);
  const service = dynamodbService(client, tableName(table));
  const deadline = deadlineOf(rest, DEADLINE);
  return serviceStore('dynamodb', service, { ...rest, deadline }, backendOf(client, table));
}

function checkClient(given: unknown): void {
  const has = (name: string): boolean => typeof (given as Record<string, unknown>)?.[name] === 'function';
  if (has('getItem') && has('putItem') && has('send')) return;
  let words = 'must be a DynamoDB client, such as new DynamoDB() from @aws-sdk/client-dynamodb';
  if (has('send'))
    words =
      'is a client without the methods getItem and putItem; pass new DynamoDB() from @aws-sdk/client-dynamodb, which takes the same settings';
  else if (has('getItem'))
    words = 'is a client of the AWS SDK 2; pass new DynamoDB() from @aws-sdk/client-dynamodb';
  throw new SluiceError('ERR_OPTIONS', 'dynamodb.client', given, '', words);
}
