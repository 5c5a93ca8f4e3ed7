/** Checks that synced nodes admit at most the bound, plus units that they could not know about, plus pushes that were lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLimiter,
  type Decision,
  gcra,
  type Limiter,
  type MaybePromise,
  synced,
} from '../../src/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { Ledger, instant, steady } from './ledger.ts';
import { expectAnswer, checkLedger } from './limit-scenarios.ts';
import type { Backend, Scenario } from './scenario.ts';

const NODES = 4;
const LIMIT = 200;
/** Milliseconds. */
const [EVERY, DEADLINE] = [50, 200];
/** Number of answers kept per node: enough that the oldest one precedes the last request of every node. */
const ANSWERS = 50;

/** The requests and admitted units of a node, by the steady clock. */
interface Node {
  readonly limiter: Limiter<MaybePromise<Decision>>;
  /** Units that the node admitted. */
  admitted: number;
  /** When the node sent the request whose answer it now uses for decisions. */
  asked: number;
  /** When the node's requests were answered, and how many units it had admitted when it sent each of them. */
  readonly answers: (readonly [told: number, admitted: number])[];
  close(): Promise<void>;
}

export function syncedNodes(backend: Backend): Scenario {
  const scenario = `${backend.name}: synced`;
  const { losses } = backend.injector;
  return async (run) => {
    // After a loss, a node still decides by an answer from before the loss, until its next request.
    const ledger = new Ledger({ burst: LIMIT, rate: LIMIT / 1000, kept: EVERY + DEADLINE, grain: 1 });

    function open(): Node {
      const connection = backend.connect();
      const direct = connection.store({ deadline: DEADLINE });
      const store = synced({ ...direct, apply }, { every: EVERY });
      const node: Node = {
        limiter: createLimiter(gcra({ limit: LIMIT, per: '1s' }), { store, name: scenario }),
        admitted: 0,
        asked: -Infinity,
        answers: [],
        async close() {
          await store.close();
          await connection.close();
        },
      };
      async function apply(...[hit]: Parameters<typeof direct.apply>): Promise<Decision> {
        const [asked, admitted] = [steady(), node.admitted];
        try {
          const decision = await direct.apply(hit);
          node.asked = asked;
          node.answers.push([steady(), admitted]);
          if (node.answers.length > ANSWERS) node.answers.shift();
          return decision;
        } catch (error) {
          // The store may never count this push, nor the units admitted while it was in flight.
          const pushed = hit.mode === 'always' ? Number(hit.cost) : 0;
          ledger.giveBack(asked, steady(), pushed + node.admitted - admitted);
          throw error;
        }
      }
      return node;
    }
    const nodes = Array.from({ length: NODES }, open);

    /** Units that other nodes admitted, minus the units that the store knew about when this node sent its request. */
    function unknownTo(node: Node): number {
      const each = nodes.map((other) => {
        const known = other.answers.filter(([told]) => told <= node.asked).map(([, admitted]) => admitted);
        return other === node ? 0 : other.admitted - Math.max(0, ...known);
      });
      return each.reduce((sum, units) => sum + units, 0);
    }
    async function take(node: Node, cost: number): Promise<void> {
      const asked = instant();
      const answer = node.limiter.take('key', cost);
      const { allowed } = answer instanceof Promise ? await answer : answer;
      run.checked(scenario);
      if (!allowed) {
        run.denied(scenario);
        return;
      }
      ledger.add(asked, instant(), cost, 0, unknownTo(node));
      node.admitted += cost;
    }
    const lane = async (number: number): Promise<void> => {
      const draw = random(run.seed + 43 * number);
      while (!run.isOver()) {
        if (ledger.isFull) checkLedger(run, scenario, ledger, losses);
        const costs = Array.from({ length: 1 + draw(8) }, () => 1 + draw(10));
        await Promise.all(costs.map((cost) => expectAnswer(run, scenario, () => take(nodes[number], cost))));
        // Occasionally, the pause is long enough that the node stops counting the key.
        await sleep(draw(50) === 0 ? 4 * EVERY : draw(20));
      }
    };
    await Promise.all(nodes.map((_, i) => lane(i)));
    checkLedger(run, scenario, ledger, losses);
    for (const node of nodes) await node.close();
  };
}
