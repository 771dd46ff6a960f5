/**
 * Owns queries whose answers cannot be relied on: those under way while what they ask for changes, which are
 * asked once more when they have come, and those that did not reach the server, which are asked again when it
 * is reached.
 */
import { type Client, type Exchange, makeOperation, mapExchange, type Operation } from '@urql/core';

/** So that changes which follow each other closely cost one more request. */
const againMs = 250;

export class InFlight {
  readonly #asked = new Map<number, ReadonlySet<string>>();
  readonly #stale = new Set<number>();
  readonly #unreached = new Map<number, Operation>();
  #client: Client | null = null;

  /** Behind the cache: it sees what goes over the network. */
  readonly exchange: Exchange = mapExchange({
    onOperation: (operation) => {
      const { kind, key } = operation;
      if (kind === 'query') this.#asked.set(key, rootFields(operation));
      else if (kind === 'teardown') this.#forget(key);
    },
    onResult: ({ operation, error }) => {
      if (operation.kind === 'mutation') this.mark();
      if (operation.kind !== 'query') return;
      const isStale = this.#stale.has(operation.key);
      this.#forget(operation.key);
      if (error?.networkError && error.response === undefined) {
        this.#unreached.set(operation.key, operation);
      } else if (isStale) setTimeout(() => this.#again(operation), againMs);
    },
  });

  use(client: Client): void {
    this.#client = client;
  }

  /** Says that these fields of the root have changed now; without names all of them. */
  readonly mark = (names?: readonly string[]): void => {
    for (const [key, fields] of this.#asked) {
      if (names?.some((name) => fields.has(name)) !== false) this.#stale.add(key);
    }
  };

  /** Says that the server is reached. */
  readonly reached = (): void => {
    const unreached = [...this.#unreached.values()];
    this.#unreached.clear();
    for (const operation of unreached) this.#again(operation);
  };

  #again(operation: Operation): void {
    const context = { ...operation.context, requestPolicy: 'network-only' } as const;
    this.#client?.reexecuteOperation(makeOperation('query', operation, context));
  }

  #forget(key: number): void {
    this.#asked.delete(key);
    this.#stale.delete(key);
    this.#unreached.delete(key);
  }
}

function rootFields({ query }: Operation): ReadonlySet<string> {
  const fields = query.definitions.flatMap((definition) =>
    'operation' in definition && 'selectionSet' in definition
      ? definition.selectionSet.selections
      : [],
  );
  return new Set(fields.flatMap((field) => ('name' in field ? field.name.value : [])));
}
