/**
 * The hits of a key for a store that takes longer to answer than a lease would last. They go there together, as one hit,
 * and one question at a time, however many wait: or a slow store would never catch up. Whoever goes was here before the
 * question was sent, so a late answer is as good as one to a hit of its own.
 */
import type { Decision, Hit, MaybePromise } from '../../engine/contract.ts';

interface Waiting {
  readonly hit: Hit;
  readonly resolve: (decision: MaybePromise<Decision>) => void;
  readonly reject: (error: unknown) => void;
}

export class FarLine {
  private readonly line: Waiting[] = [];
  private travelling = false;
  private readonly ask: (hit: Hit) => MaybePromise<Decision>;
  private readonly denial: (answer: Decision) => Decision;

  /** `denial`: what those hear for whom the answer was not enough. */
  constructor(ask: (hit: Hit) => MaybePromise<Decision>, denial: (answer: Decision) => Decision) {
    this.ask = ask;
    this.denial = denial;
  }

  join(hit: Hit): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.line.push({ hit, resolve, reject });
      if (!this.travelling) void this.travel();
    });
  }

  private async travel(): Promise<void> {
    this.travelling = true;
    while (this.line.length > 0) {
      const group = this.line.splice(0);
      const cost = group.reduce((sum, { hit }) => sum + hit.cost, 0);
      try {
        await this.serve(group, await this.ask({ ...group[0].hit, cost, mode: 'partial' }));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.travelling = false;
  }

  /** First come, first served. An answer in the store's place is for each to hear by itself. */
  private async serve(group: readonly Waiting[], answer: Decision): Promise<void> {
    let left = answer.taken;
    for (const { hit, resolve } of group) {
      if (answer.source !== 'store') resolve(this.ask(hit));
      else if (hit.cost <= left) {
        left -= hit.cost;
        resolve({ ...answer, taken: hit.cost });
      } else resolve(this.denial(answer));
    }
    if (answer.source === 'store' && left > 0)
      await this.ask({ ...group[0].hit, verb: 'refund', cost: left, of: answer });
  }
}
