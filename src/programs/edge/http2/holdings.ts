/**
 * Owns how much all sessions of HTTP/2 make the edge hold: heads of requests, bodies that no app takes, answers that no
 * client takes. One session may have a hundred of each.
 *
 * 1. From half of the bound on, a session holds as little of answers as it can (`isTight`).
 * 2. Beyond the bound, of the client that holds most the session ends that holds most.
 */

const bytesMax = 192 * 1024 * 1024;

/** What one session holds. */
export interface Share {
  readonly isTight: boolean;
  /** So much more, or less. */
  add(bytes: number): void;
  /** It holds nothing any more. */
  close(): void;
}

interface Held {
  client: string;
  bytes: number;
  isOpen: boolean;
  end: () => void;
}

export class Holdings {
  readonly #most: number;
  readonly #all = new Set<Held>();
  #bytes = 0;
  #isRelieved = true;

  constructor(most: number = bytesMax) {
    this.#most = most;
  }

  /** `client`: the name of its network. `end` ends the session. */
  open(client: string, end: () => void): Share {
    const held: Held = { client, bytes: 0, isOpen: true, end };
    const isTight = (): boolean => this.#bytes > this.#most / 2;
    this.#all.add(held);
    return {
      get isTight() {
        return isTight();
      },
      add: (bytes) => this.#add(held, bytes),
      close: () => this.#close(held),
    };
  }

  #add(held: Held, bytes: number): void {
    if (!held.isOpen) return;
    held.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes <= this.#most || !this.#isRelieved) return;
    this.#isRelieved = false;
    // Not amid what the session does.
    setImmediate(() => this.#relieve());
  }

  #close(held: Held): void {
    if (!held.isOpen) return;
    held.isOpen = false;
    this.#all.delete(held);
    this.#bytes -= held.bytes;
  }

  #relieve(): void {
    while (this.#bytes > this.#most) {
      const held = this.#heaviest();
      if (held === undefined) break;
      this.#close(held);
      held.end();
    }
    this.#isRelieved = true;
  }

  #heaviest(): Held | undefined {
    const clients = new Map<string, number>();
    for (const { client, bytes } of this.#all)
      clients.set(client, (clients.get(client) ?? 0) + bytes);
    const [most] = [...clients].sort(([, a], [, b]) => b - a)[0] ?? [];
    let heaviest: Held | undefined;
    for (const held of this.#all) {
      if (held.client === most && held.bytes > (heaviest?.bytes ?? -1)) heaviest = held;
    }
    return heaviest;
  }
}
