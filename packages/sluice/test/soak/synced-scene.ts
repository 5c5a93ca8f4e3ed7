/** Nodes that tell each other late: above the bound passes at most what they could not know of, and what was lost on its way. */
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
import { Book, instant, steady } from './book.ts';
import { guarded, settle } from './bound-scenes.ts';
import type { Backend, Scene } from './scene.ts';

const NODES = 4;
const LIMIT = 200;
/** Milliseconds. */
const [EVERY, DEADLINE] = [50, 200];
/** Answers that are remembered: the oldest is one that all nodes have asked after. */
const ANSWERS = 50;

/** What is known of a node's questions, by the steady clock. */
interface Node {
  readonly limiter: Limiter<MaybePromise<Decision>>;
  /** Units it let pass. */
  passed: number;
  /** When it asked what it goes by. */
  asked: number;
  /** Of its questions that were answered: when, and what had passed when they were asked. */
  readonly answers: (readonly [told: number, passed: number])[];
  close(): Promise<void>;
}

export function toldLate(backend: Backend): Scene {
  const scene = `${backend.name}: synced`;
  const { losses } = backend.trouble;
  return async (stage) => {
    // A node goes by what it heard before a loss until its next question.
    const book = new Book({ burst: LIMIT, rate: LIMIT / 1000, kept: EVERY + DEADLINE, grain: 1 });

    function open(): Node {
      const connection = backend.connect();
      const direct = connection.store({ deadline: DEADLINE });
      const store = synced({ ...direct, apply }, { every: EVERY });
      const node: Node = {
        limiter: createLimiter(gcra({ limit: LIMIT, per: '1s' }), { store, name: scene }),
        passed: 0,
        asked: -Infinity,
        answers: [],
        async close() {
          await store.close();
          await connection.close();
        },
      };
      async function apply(...[hit]: Parameters<typeof direct.apply>): Promise<Decision> {
        const [asked, passed] = [steady(), node.passed];
        try {
          const decision = await direct.apply(hit);
          node.asked = asked;
          node.answers.push([steady(), passed]);
          if (node.answers.length > ANSWERS) node.answers.shift();
          return decision;
        } catch (error) {
          // Nobody will hear of what it told, nor of what passed meanwhile.
          const told = hit.mode === 'always' ? hit.cost : 0;
          book.giveBack(asked, steady(), told + node.passed - passed);
          throw error;
        }
      }
      return node;
    }
    const nodes = Array.from({ length: NODES }, open);

    /** What the others let pass, but for what the store was told before this node asked. */
    function unheardBy(node: Node): number {
      const each = nodes.map((other) => {
        const heard = other.answers.filter(([told]) => told <= node.asked).map(([, passed]) => passed);
        return other === node ? 0 : other.passed - Math.max(0, ...heard);
      });
      return each.reduce((sum, units) => sum + units, 0);
    }
    async function take(node: Node, cost: number): Promise<void> {
      const asked = instant();
      const answer = node.limiter.take('key', cost);
      const { allowed } = answer instanceof Promise ? await answer : answer;
      stage.checked(scene);
      if (!allowed) {
        stage.denied(scene);
        return;
      }
      book.add(asked, instant(), cost, 0, unheardBy(node));
      node.passed += cost;
    }
    const lane = async (number: number): Promise<void> => {
      const draw = random(stage.seed + 43 * number);
      while (!stage.isOver()) {
        if (book.isFull) settle(stage, scene, book, losses);
        const costs = Array.from({ length: 1 + draw(8) }, () => 1 + draw(10));
        await Promise.all(costs.map((cost) => guarded(stage, scene, () => take(nodes[number], cost))));
        // Now and then long enough for the key to be forgotten.
        await sleep(draw(50) === 0 ? 4 * EVERY : draw(20));
      }
    };
    await Promise.all(nodes.map((_, i) => lane(i)));
    settle(stage, scene, book, losses);
    for (const node of nodes) await node.close();
  };
}
