/** Claims about a service in which several writers change one row. They also run without a test framework. */
import { casStore, createLimiter, gcra } from '../../../src/index.ts';
import type { CasService } from '../../../src/store.ts';
import type { Claim } from '../../../src/testing/index.ts';

/** `open` returns the service, or another connection to it. */
export function races(open: () => CasService<unknown>): Claim[] {
  return [
    ...[0, 1].map((used) => ({
      name: `if two writers race for a row with ${used} used units, the loser decides again on the row that the winner wrote`,
      run: () => race(open(), open(), used),
    })),
    { name: 'a put with an outdated version returns false and writes nothing', run: () => late(open()) },
  ];
}

async function race(first: CasService<unknown>, second: CasService<unknown>, used: number): Promise<void> {
  const policy = gcra({ limit: 10, per: '1d' });
  const name = `race:${crypto.randomUUID()}`;
  const limiterOn = (service: CasService<unknown>) =>
    createLimiter(policy, { store: casStore(service, { onFailure: 'throw', deadline: '30s' }), name });
  const winner = limiterOn(first);
  await winner.take('k', used);
  const puts: boolean[] = [];
  const loser = limiterOn({
    get: (key) => second.get(key),
    async put(...row) {
      if (puts.length === 0) await winner.take('k', 4);
      const written = await second.put(...row);
      puts.push(written);
      return written;
    },
  });
  const { remaining } = await loser.take('k', 5);
  same([remaining, ...puts], [1 - used, false, true]);
}

async function late(service: CasService<unknown>): Promise<void> {
  const key = `late:${crypto.randomUUID()}`;
  const [first, second] = [Uint8Array.of(1), Uint8Array.of(2)];
  const kept = async () => Array.from((await service.get(key))?.value ?? []);
  same(await service.put(key, first, undefined, 60_000), true);
  same(await service.put(key, second, undefined, 60_000), false);
  same(await kept(), [1]);
  const before = (await service.get(key))?.version;
  same(await service.put(key, second, before, 60_000), true);
  const after = (await service.get(key))?.version;
  same(before === after, false);
  same(await service.put(key, first, before, 60_000), false);
  same(await kept(), [2]);
  same((await service.get(key))?.version === after, true);
}

function same(actual: unknown, expected: unknown): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(`found ${found} instead of ${wanted}`);
}
