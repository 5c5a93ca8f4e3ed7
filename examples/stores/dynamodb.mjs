// DynamoDB as a store. The table has the partition key `key` (a string) and time to live on `expires`.
//
//   import { DynamoDB } from '@aws-sdk/client-dynamodb';
//   import { casStore, createLimiter } from 'sluice';
//
//   // A retry after a lost reply would charge twice.
//   const client = new DynamoDB({ maxAttempts: 1 });
//   const limiter = createLimiter('100/min', { store: casStore(dynamodb(client, 'limits')), name: 'api' });

/** @param client a `DynamoDB` of @aws-sdk/client-dynamodb @param {string} table */
export function dynamodb(client, table) {
  return {
    async get(key) {
      // An expired row may still be returned, but casStore treats it as fully replenished.
      const { Item } = await client.getItem({
        TableName: table,
        Key: { key: { S: key } },
        ConsistentRead: true,
      });
      return Item && { value: Item.value.B, version: Item.version.S };
    },
    async put(key, value, version, expiresInMs) {
      try {
        await client.putItem({
          TableName: table,
          Item: {
            key: { S: key },
            value: { B: value },
            version: { S: crypto.randomUUID() },
            expires: { N: String(Math.ceil((Date.now() + expiresInMs) / 1000)) },
          },
          ConditionExpression: version === undefined ? 'attribute_not_exists(#key)' : '#version = :version',
          ExpressionAttributeNames: version === undefined ? { '#key': 'key' } : { '#version': 'version' },
          ...(version !== undefined && { ExpressionAttributeValues: { ':version': { S: version } } }),
        });
        return true;
      } catch (error) {
        if (error?.name === 'ConditionalCheckFailedException') return false;
        throw error;
      }
    },
  };
}
