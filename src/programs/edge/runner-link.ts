/**
 * Owns what the edge knows of workloads: what the runner has told, and what is asked of it.
 *
 * 1. A place is the very same until the runner tells another one, or none.
 */
import type {
  EdgeAnswers,
  EdgeQuestion,
  FromEdge,
  OwnPlace,
  Target,
  Tenants,
} from '../../protocol/edge-messages.ts';

export class RunnerLink implements Tenants {
  readonly #send: (message: FromEdge) => void;
  readonly #places = new Map<string, OwnPlace>();
  readonly #asked = new Map<number, (ok: unknown) => void>();
  #last = 0;

  constructor(send: (message: FromEdge) => void) {
    this.#send = send;
  }

  place(workload: string, place: OwnPlace | null): void {
    if (place === null) this.#places.delete(workload);
    else this.#places.set(workload, place);
  }

  answer(number: number, ok: unknown): void {
    this.#asked.get(number)?.(ok);
    this.#asked.delete(number);
  }

  ownPlace({ workload = '' }: Target): OwnPlace | undefined {
    return this.#places.get(workload);
  }

  async ownSockets(target: Target): Promise<ReadonlySet<string>> {
    return new Set(await this.#ask({ ask: 'own-sockets', target }));
  }

  leadIn(target: Target): Promise<boolean> {
    return this.#ask({ ask: 'lead-in', target });
  }

  #ask<Q extends EdgeQuestion>(question: Q): Promise<EdgeAnswers[Q['ask']]> {
    const n = ++this.#last;
    return new Promise((resolve) => {
      this.#asked.set(n, (ok) => resolve(ok as EdgeAnswers[Q['ask']]));
      this.#send({ ...question, n });
    });
  }
}
