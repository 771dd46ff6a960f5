/**
 * Owns queries that are under way while what they ask for changes: their answers may be from before the
 * change, so they are asked once more when they have come.
 */
import { type Client, type Exchange, makeOperation, mapExchange } from '@urql/core';

/** So that changes which follow each other closely cost one more request. */
const againMs = 250;

export class InFlight {
  readonly #asked = new Set<number>();
  readonly #stale = new Set<number>();
  #client: Client | null = null;

  /** Behind the cache: it sees what goes over the network. */
  readonly exchange: Exchange = mapExchange({
    onOperation: ({ kind, key }) => {
      if (kind === 'query') this.#asked.add(key);
      else if (kind === 'teardown') this.#forget(key);
    },
    onResult: ({ operation }) => {
      if (operation.kind === 'mutation') this.mark();
      if (operation.kind !== 'query') return;
      const isStale = this.#stale.has(operation.key);
      this.#forget(operation.key);
      if (!isStale) return;
      const context = { ...operation.context, requestPolicy: 'network-only' } as const;
      const again = makeOperation('query', operation, context);
      setTimeout(() => this.#client?.reexecuteOperation(again), againMs);
    },
  });

  use(client: Client): void {
    this.#client = client;
  }

  /** Says that lists have changed now. */
  readonly mark = (): void => {
    for (const key of this.#asked) this.#stale.add(key);
  };

  #forget(key: number): void {
    this.#asked.delete(key);
    this.#stale.delete(key);
  }
}
