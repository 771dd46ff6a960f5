/**
 * Owns the way to consoles from a thread that has the clients but not the consoles: what is asked goes
 * over the port, and frames come back over it.
 *
 * 1. A client that does not read makes the console wait, as on one thread: at most `unreadBytes` are on the
 *    way or waiting for it.
 * 2. A thread that is gone has left all it watched.
 */
import type { Asking, Handling } from '../lib/port-calls.ts';
import type { CloseOutcome } from '../logs/viewers/stream-room.ts';
import type { FrameSink } from '../logs/viewers/viewer.ts';
import type {
  ConsoleDoor,
  ConsoleSize,
  NamedConsole,
  OpenConsole,
} from '../consoles/console-door.ts';

/** Calls to the thread that has the consoles. `viewer`: a number of the asking thread's own. */
export type ConsoleCalls = {
  'console.open': { in: OpenConsole; out: string };
  'console.admit': { in: { named: NamedConsole; size: ConsoleSize | null }; out: void };
  'console.watch': { in: { named: NamedConsole; viewer: number }; out: void };
  /** Its client has left. */
  'console.left': { in: { viewer: number }; out: void };
  /** Its client has taken as many bytes. */
  'console.taken': { in: { viewer: number; count: number }; out: void };
  'console.write': { in: { named: NamedConsole; input: Uint8Array }; out: void };
  'console.resize': { in: { named: NamedConsole; size: ConsoleSize }; out: void };
  'console.close': { in: NamedConsole; out: CloseOutcome };
};

/** Calls to the threads that have the clients. */
export type ConsoleThreadCalls = {
  'console.frame': { in: { viewer: number; bytes: Uint8Array }; out: void };
  'console.end': { in: { viewer: number; bytes: Uint8Array | null }; out: void };
};

const unreadBytes = 256 * 1024;

interface RemoteViewer {
  sink: FrameSink;
  /** Written while the socket was full; it counts as taken when that has room again. */
  held: number;
}

/** The consoles, for a thread that does not have them. Once for a port. */
export class RemoteConsoles implements ConsoleDoor {
  readonly #home: Asking<ConsoleCalls>;
  readonly #viewers = new Map<number, RemoteViewer>();
  #lastViewer = 0;

  constructor(home: Asking<ConsoleCalls> & Handling<ConsoleThreadCalls>) {
    this.#home = home;
    home.handle('console.frame', ({ viewer, bytes }) => {
      this.#frame(viewer, bytes);
    });
    home.handle('console.end', ({ viewer, bytes }) => {
      const watching = this.#viewers.get(viewer);
      this.#viewers.delete(viewer);
      watching?.sink.end(bytes ?? undefined);
    });
  }

  open(wanted: OpenConsole): Promise<string> {
    return this.#home.ask('console.open', wanted);
  }

  admit(named: NamedConsole, size: ConsoleSize | null): Promise<void> {
    return this.#home.ask('console.admit', { named, size });
  }

  watch(named: NamedConsole, sink: FrameSink): () => void {
    const viewer = ++this.#lastViewer;
    const watching: RemoteViewer = { sink, held: 0 };
    this.#viewers.set(viewer, watching);
    sink.onWritable(() => {
      const count = watching.held;
      watching.held = 0;
      if (count > 0) this.#home.tell('console.taken', { viewer, count });
    });
    this.#home.tell('console.watch', { named, viewer });
    return () => {
      if (this.#viewers.delete(viewer)) this.#home.tell('console.left', { viewer });
    };
  }

  write(named: NamedConsole, input: Uint8Array): Promise<void> {
    return this.#home.ask('console.write', { named, input });
  }

  resize(named: NamedConsole, size: ConsoleSize): Promise<void> {
    return this.#home.ask('console.resize', { named, size });
  }

  close(named: NamedConsole): Promise<CloseOutcome> {
    return this.#home.ask('console.close', named);
  }

  #frame(viewer: number, bytes: Uint8Array): void {
    const watching = this.#viewers.get(viewer);
    if (watching === undefined) return;
    const taken = watching.sink.write(bytes) && watching.held === 0;
    if (taken) this.#home.tell('console.taken', { viewer, count: bytes.length });
    else watching.held += bytes.length;
  }
}

/** Answers here what another thread's `RemoteConsoles` asks. Once for a port. */
export function answerConsoles(
  thread: Handling<ConsoleCalls> & Asking<ConsoleThreadCalls>,
  consoles: ConsoleDoor,
): void {
  const watched = new Map<number, { sink: PortSink; left: () => void }>();
  thread.handle('console.open', (wanted) => consoles.open(wanted));
  thread.handle('console.admit', ({ named, size }) => consoles.admit(named, size));
  thread.handle('console.write', ({ named, input }) => consoles.write(named, input));
  thread.handle('console.resize', ({ named, size }) => consoles.resize(named, size));
  thread.handle('console.close', (named) => consoles.close(named));
  thread.handle('console.watch', ({ named, viewer }) => {
    const sink = new PortSink(thread, viewer, () => watched.delete(viewer));
    const left = consoles.watch(named, sink);
    if (!sink.closed) watched.set(viewer, { sink, left });
  });
  thread.handle('console.taken', ({ viewer, count }) => {
    watched.get(viewer)?.sink.taken(count);
  });
  const leave = (viewer: number): void => {
    const watching = watched.get(viewer);
    watched.delete(viewer);
    watching?.sink.close();
    watching?.left();
  };
  thread.handle('console.left', ({ viewer }) => {
    leave(viewer);
  });
  thread.onClose(() => {
    for (const viewer of [...watched.keys()]) leave(viewer);
  });
}

/** A stream whose socket is on another thread. */
class PortSink implements FrameSink {
  readonly #thread: Asking<ConsoleThreadCalls>;
  readonly #viewer: number;
  readonly #ended: () => void;
  #unread = 0;
  #closed = false;
  #writable: (() => void) | undefined;

  constructor(thread: Asking<ConsoleThreadCalls>, viewer: number, ended: () => void) {
    this.#thread = thread;
    this.#viewer = viewer;
    this.#ended = ended;
  }

  get closed(): boolean {
    return this.#closed;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#closed) return false;
    this.#unread += chunk.length;
    // Alone in its memory: what is lent from a pool would cross as the whole pool.
    this.#thread.tell('console.frame', { viewer: this.#viewer, bytes: new Uint8Array(chunk) });
    return this.#unread < unreadBytes;
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  taken(count: number): void {
    const wasFull = this.#unread >= unreadBytes;
    this.#unread -= count;
    if (wasFull && this.#unread < unreadBytes && !this.#closed) this.#writable?.();
  }

  end(lastChunk?: Uint8Array): void {
    if (this.#closed) return;
    this.#closed = true;
    const bytes = lastChunk === undefined ? null : new Uint8Array(lastChunk);
    this.#thread.tell('console.end', { viewer: this.#viewer, bytes });
    this.#ended();
  }

  /** The client has left. */
  close(): void {
    this.#closed = true;
  }
}
