/**
 * Owns which places there are: this machine, and each server that somebody added.
 *
 * 1. A server has one place as long as it is known; what is on a server that is not known any more is at a place
 *    that is never reached.
 */
import type { JournalEntry, Reader } from '../store/reader-and-journal.ts';
import type { ServerRecord } from '../store/records/records.ts';
import { tables } from '../store/records/tables.ts';
import type { Place } from './place.ts';

export interface PlacesOptions {
  here: Place;
  /** The place of another server. */
  placeAt: (serverId: string) => Place;
  store: Pick<Reader, 'list'> & { subscribe(listener: (entry: JournalEntry) => void): () => void };
}

/** Called with a place that is there, or comes; what it returns is called when the place goes. */
type Follower = (place: Place) => () => void;

export class Places {
  readonly #options: PlacesOptions;
  readonly #others = new Map<string, Place>();
  readonly #added = new Set<string>();
  readonly #followers = new Map<Follower, Map<Place, () => void>>();
  #unsubscribe: () => void = () => undefined;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  get here(): Place {
    return this.#options.here;
  }

  /** Always the same for a server that is known. Servers of a swarm are this place's. */
  of(serverId: string): Place {
    const { here, placeAt } = this.#options;
    if (serverId === here.serverId) return here;
    const known = this.#others.get(serverId);
    if (known !== undefined) return known;
    const place = placeAt(serverId);
    this.#others.set(serverId, place);
    return place;
  }

  /** All there are now, this machine first. */
  all(): readonly Place[] {
    return [this.here, ...[...this.#added].map((id) => this.of(id))];
  }

  /** From now on servers that come and go are known. */
  start(): void {
    const { store } = this.#options;
    this.#unsubscribe = store.subscribe(({ changes }) => {
      for (const change of changes) {
        if (change.table !== tables.servers.name) continue;
        if (change.op === 'put' || change.op === 'insert') this.#see(change.value as ServerRecord);
        else this.#remove(String(change.key));
      }
    });
    for (const server of store.list(tables.servers, 'added', [], { limit: Infinity })) {
      this.#see(server);
    }
  }

  /** The returned function ends it for all places. */
  each(follower: Follower): () => void {
    const ends = new Map(this.all().map((place) => [place, follower(place)]));
    this.#followers.set(follower, ends);
    return () => {
      this.#followers.delete(follower);
      for (const end of ends.values()) end();
    };
  }

  /** Lets go of the other places; what runs there goes on. */
  async close(): Promise<void> {
    this.#unsubscribe();
    await Promise.all([...this.#others.values()].map(({ driver }) => driver.close()));
  }

  #see({ id, agent }: ServerRecord): void {
    if (agent === undefined || this.#added.has(id)) return;
    this.#added.add(id);
    const place = this.of(id);
    for (const [follower, ends] of this.#followers) ends.set(place, follower(place));
  }

  #remove(id: string): void {
    if (!this.#added.delete(id)) return;
    const place = this.of(id);
    for (const ends of this.#followers.values()) {
      ends.get(place)?.();
      ends.delete(place);
    }
    this.#others.delete(id);
    void place.driver.close();
  }
}
