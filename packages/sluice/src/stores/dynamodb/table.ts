/** Describes the table of the DynamoDB store, in the form of inputs for the client's methods. */
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames } from '../../internal/options.ts';

export interface MigrationOptions {
  /** The name of the table. Default 'sluice'. */
  readonly table?: string | undefined;
}

/** The inputs of the client's methods that create the table. */
export interface Migration {
  /** The input of `createTable`. */
  readonly createTable: {
    readonly TableName: string;
    readonly AttributeDefinitions: { AttributeName: string; AttributeType: 'S' }[];
    readonly KeySchema: { AttributeName: string; KeyType: 'HASH' }[];
    readonly BillingMode: 'PAY_PER_REQUEST';
  };
  /** The input of `updateTimeToLive`. With this setting, DynamoDB deletes expired rows free of charge. */
  readonly updateTimeToLive: {
    readonly TableName: string;
    readonly TimeToLiveSpecification: { readonly AttributeName: string; readonly Enabled: true };
  };
}

/** Returns the inputs with which the client creates the table and lets its rows expire. */
export function migration(options: MigrationOptions = {}): Migration {
  const table = tableName(checkOptionNames('migration', options, ['table']).table ?? 'sluice');
  return {
    createTable: {
      TableName: table,
      AttributeDefinitions: [{ AttributeName: 'key', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'key', KeyType: 'HASH' }],
      BillingMode: 'PAY_PER_REQUEST',
    },
    updateTimeToLive: {
      TableName: table,
      TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true },
    },
  };
}

/** Validates a name by DynamoDB's rules. An ARN is also valid. */
export function tableName(table: unknown): string {
  if (typeof table === 'string' && /^([\w.-]{3,255}|arn:[\w.:/-]+)$/.test(table)) return table;
  const words = 'must consist of 3 to 255 letters, digits, _, - and ., or be an ARN';
  throw new SluiceError('ERR_CHOICE', 'table', table, '', words);
}
