/** Compare-and-swap on a table of DynamoDB, with conditional writes. */
import { SluiceError, type StoreFault, StoreUnavailable } from '../../internal/errors.ts';
import type { CasService } from '../cas/cas.ts';
import { newVersion } from '../cas/table.ts';
import { migration } from './table.ts';

type Attributes = Readonly<
  Record<string, { readonly S?: string; readonly B?: Uint8Array; readonly N?: string }>
>;

/** An instance of the class `DynamoDB` from @aws-sdk/client-dynamodb. */
export interface DynamodbClient {
  /** Reads an item. */
  getItem(input: never): Promise<object>;
  /** Writes an item. */
  putItem(input: never): Promise<object>;
}

interface Failure {
  readonly name?: string;
  readonly message?: string;
  readonly code?: string;
  readonly $metadata?: { readonly attempts?: number };
}

export function dynamodbService(client: DynamodbClient, table: string): CasService<string> {
  async function get(key: string) {
    // The result may be an expired item that DynamoDB has not deleted yet. It does no harm, because its row is fully replenished.
    const input = { TableName: table, Key: { key: { S: key } }, ConsistentRead: true };
    const { Item } = (await client.getItem(input as never)) as { readonly Item?: Attributes };
    const [value, version] = [Item?.['value']?.B, Item?.['version']?.S];
    return value === undefined || version === undefined ? undefined : { value, version };
  }

  async function put(key: string, value: Uint8Array, expected: string | undefined, expiresInMs: number) {
    const version = newVersion();
    const condition =
      expected === undefined
        ? {
            ConditionExpression: 'attribute_not_exists(#key)',
            ExpressionAttributeNames: { '#key': 'key' },
          }
        : {
            ConditionExpression: '#version = :expected',
            ExpressionAttributeNames: { '#version': 'version' },
            ExpressionAttributeValues: { ':expected': { S: expected } },
          };
    const expires = String(Math.ceil((Date.now() + expiresInMs) / 1000));
    const Item = { key: { S: key }, value: { B: value }, version: { S: version }, expires: { N: expires } };
    try {
      await client.putItem({ TableName: table, Item, ...condition } as never);
      return true;
    } catch (error) {
      const { name, $metadata } = (error ?? {}) as Failure;
      if (name !== 'ConditionalCheckFailedException') throw error;
      if ($metadata?.attempts === 1) return false;
      // The client has sent the write more than once. If the first attempt was applied, a later attempt found the new version and
      // failed.
      if ((await get(key))?.version === version) return true;
      throw new StoreUnavailable('connection', error);
    }
  }

  return {
    get: (key) => get(key).catch((error: unknown) => reject(error, table)),
    put: (...row) => put(...row).catch((error: unknown) => reject(error, table)),
  };
}

const FAULTS: readonly (readonly [RegExp, StoreFault])[] = [
  [/Throttl|ThroughputExceeded|RequestLimitExceeded|TransactionConflict/, 'overloaded'],
  [/InternalServerError|ServiceUnavailable|TimeoutError|NetworkingError/, 'connection'],
  [/ECONN|ETIMEDOUT|ENOTFOUND|EPIPE|EHOSTUNREACH/, 'connection'],
];
const NO_PERMISSION =
  /AccessDenied|UnrecognizedClient|ExpiredToken|InvalidSignature|CredentialsProviderError/;

function reject(error: unknown, table: string): never {
  const { name = '', code = '', message = '' } = (error ?? {}) as Failure;
  if (name === 'ResourceNotFoundException') {
    const input = JSON.stringify(migration({ table }).createTable);
    throw new SluiceError(
      'ERR_TABLE',
      'dynamodb.table',
      table,
      `create it with client.createTable(${input})`,
    );
  }
  if (NO_PERMISSION.test(name)) {
    const advice = `the client's credentials must allow dynamodb:GetItem and dynamodb:PutItem on ${table}`;
    const failure = new SluiceError('ERR_PERMISSION', 'dynamodb.client', `${name}: ${message}`, advice);
    throw Object.assign(failure, { cause: error });
  }
  const fault = FAULTS.find(([words]) => words.test(`${name} ${code}`))?.[1];
  throw fault === undefined ? error : new StoreUnavailable(fault, error);
}
