/** Creates a store with a long deadline, so that a stall of the machine does not count as a failure of the store. */
export async function patient(client) {
  const { redis } = await import('sluice/redis');
  return redis(client, { deadline: 5000 });
}

export function perKey(make) {
  const made = new Map();
  return (key) => {
    const known = made.get(key) ?? make(key);
    made.set(key, known);
    return known;
  };
}

/** Makes a call that takes a callback, and returns a promise of its result. */
export const called = (act) =>
  new Promise((resolve, reject) => {
    act((error, result) => (error ? reject(error) : resolve(result)));
  });
