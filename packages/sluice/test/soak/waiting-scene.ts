/** Callers that wait in line, some of whom give up; never more at once than places. */
import { setTimeout as sleep } from 'node:timers/promises';
import { concurrency, createLimiter, DeniedError, gcra, StoreUnavailable } from '../../src/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { steady } from './book.ts';
import { type Backend, type Scene, stopwatch } from './scene.ts';

const DEADLINE = 200;
/** A busy machine wakes nobody on time; a hang is far beyond this. */
const PATIENCE = 3000;
const PLACES = 5;

/** In memory, and for a turn on a store in trouble. */
export function waiting(backend: Backend): Scene {
  return async (stage) => {
    const connection = backend.connect();
    const limiter = createLimiter({
      places: concurrency({ limit: PLACES, lease: '1h' }),
      rate: gcra({ limit: 1000, per: '1s' }),
    });
    const far = createLimiter(gcra({ limit: 200, per: '1s' }), {
      store: connection.store({ deadline: DEADLINE }),
      name: 'waiting',
    });
    let inside = 0;
    const lane = async (number: number): Promise<void> => {
      const draw = random(stage.seed + 31 * number);
      while (!stage.isOver()) {
        const leave = AbortSignal.timeout(1 + draw(40));
        const options = draw(3) === 0 ? { signal: leave } : { timeout: 1 + draw(40) };
        const isFar = draw(4) === 0;
        const scene = `${isFar ? backend.name : 'memory'}: waiting`;
        const began = steady();
        const took = stopwatch(stage);
        try {
          if (isFar) {
            const { allowed } = await far.acquire('key', options);
            if (!allowed) stage.denied(scene);
          } else
            await limiter.run(
              'key',
              async () => {
                if (++inside > PLACES) stage.wrong(scene, `${inside} inside`);
                await sleep(draw(4));
                inside--;
              },
              options,
            );
        } catch (error) {
          if (error instanceof DeniedError) stage.denied(scene);
          else if (isFar && error instanceof StoreUnavailable) stage.unavailable(scene, began);
          else if (error !== leave.reason) stage.wrong(scene, String(error));
        }
        if (took() > PATIENCE + 2 * DEADLINE) stage.wrong(scene, 'a caller hung');
        stage.checked(scene);
        await sleep(draw(12));
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, i) => lane(i)));
    const [places] = limiter.peek('key').policies;
    if (places.remaining !== PLACES) stage.wrong('memory: waiting', 'a place was never freed');
    await far.close();
    await connection.close();
  };
}
