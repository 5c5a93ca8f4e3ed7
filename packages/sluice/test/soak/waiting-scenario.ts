/** Callers wait in a queue, and some give up. There must never be more callers that hold a place than there are places. */
import { setTimeout as sleep } from 'node:timers/promises';
import { concurrency, createLimiter, DeniedError, gcra, StoreUnavailable } from '../../src/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { steady } from './ledger.ts';
import { type Backend, type Scenario, stopwatch } from './scenario.ts';

const DEADLINE = 200;
/** Milliseconds after which a caller counts as hung, even on a busy machine. */
const HUNG_AFTER = 3000;
const PLACES = 5;

/** Waits for a place in memory, or for units of a store with faults. */
export function waiting(backend: Backend): Scenario {
  return async (run) => {
    const connection = backend.connect();
    const limiter = createLimiter({
      places: concurrency({ limit: PLACES, lease: '1h' }),
      rate: gcra({ limit: 1000, per: '1s' }),
    });
    const remote = createLimiter(gcra({ limit: 200, per: '1s' }), {
      store: connection.store({ deadline: DEADLINE }),
      name: 'waiting',
    });
    let inside = 0;
    const lane = async (number: number): Promise<void> => {
      const draw = random(run.seed + 31 * number);
      while (!run.isOver()) {
        const abort = AbortSignal.timeout(1 + draw(40));
        const options = draw(3) === 0 ? { signal: abort } : { timeout: 1 + draw(40) };
        const isRemote = draw(4) === 0;
        const scenario = `${isRemote ? backend.name : 'memory'}: waiting`;
        const began = steady();
        const took = stopwatch(run);
        try {
          if (isRemote) {
            const { allowed } = await remote.acquire('key', options);
            if (!allowed) run.denied(scenario);
          } else
            await limiter.run(
              'key',
              async () => {
                if (++inside > PLACES) run.violation(scenario, `${inside} callers hold ${PLACES} places`);
                await sleep(draw(4));
                inside--;
              },
              options,
            );
        } catch (error) {
          if (error instanceof DeniedError) run.denied(scenario);
          else if (isRemote && error instanceof StoreUnavailable) run.unavailable(scenario, began);
          else if (error !== abort.reason) run.violation(scenario, String(error));
        }
        if (took() > HUNG_AFTER + 2 * DEADLINE) run.violation(scenario, 'a caller was not answered in time');
        run.checked(scenario);
        await sleep(draw(12));
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, i) => lane(i)));
    const [places] = limiter.peek('key').policies;
    if (places.remaining !== PLACES) run.violation('memory: waiting', 'a place was never freed');
    await remote.close();
    await connection.close();
  };
}
