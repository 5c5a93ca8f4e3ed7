/** A stall of the machine is no failure of the store. */
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

/** A limiter that calls back, as a promise. */
export const called = (act) =>
  new Promise((resolve, reject) => {
    act((error, result) => (error ? reject(error) : resolve(result)));
  });
