/** The script call that decides takes of several plans in one step. `lua/all.lua` describes its arguments and its reply. */
import type { Decision, Hit, Millis, Plan } from '../../engine/contract.ts';
import { StoreError } from '../../internal/errors.ts';
import { decisionsIn } from './reply.ts';
import { allScript, type Script, type ScriptPlan } from './script.ts';
import { wordOf } from './words.ts';

export interface AllCall {
  readonly script: Script;
  /**
   * The arguments. `now` is the caller's time. `time` is the time of an injected clock, or undefined if the server's clock is used.
   */
  argsAt(now: Millis, time: Millis | undefined): (string | Buffer)[];
  decisionsIn(reply: unknown): Decision[];
}

/** Creates the call. `isBinary` is false for clients that exchange text. */
export function allCall(
  hits: readonly Hit[],
  scriptOf: (plan: Plan) => ScriptPlan,
  isBinary: boolean,
): AllCall {
  const plans = [...new Set(hits.map(({ plan }) => plan))];
  const scripts = plans.map(scriptOf);
  // Plans that differ only in their numbers share the same Lua code.
  const byShape = new Map(scripts.map(({ shape }, i) => [shape, plans[i]]));
  const shapes = [...byShape.keys()].sort();
  const words = hits.map((hit) => {
    const index = plans.indexOf(hit.plan);
    return `${index + 1} ${shapes.indexOf(scripts[index].shape) + 1} ${wordOf(hit)}`;
  });
  return {
    script: allScript(
      shapes.map((shape) => byShape.get(shape) as Plan),
      shapes,
    ),
    argsAt(now, time) {
      const heads = scripts.map((script) => script.head(-1, '', now));
      return [
        `${isBinary ? '' : 'x'}${time ?? ''}`,
        String(plans.length),
        ...(isBinary ? heads : heads.map((head) => head.toString('hex'))),
        ...words,
      ];
    },
    decisionsIn(reply) {
      if (!Array.isArray(reply)) throw new StoreError(`unexpected reply of type ${typeof reply}`);
      const read = (hit: Hit, i: number): Decision => decisionsIn((reply as unknown[])[i], hit.plan)(hit);
      const decisions = hits.map(read);
      const denied = decisions.findIndex(({ allowed }) => !allowed);
      if (denied < 0) return decisions;
      return hits.map((hit, i) => (i === denied ? decisions[i] : read({ ...hit, verb: 'peek' }, i)));
    },
  };
}
