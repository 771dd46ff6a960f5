/**
 * Owns frames on their way to a client on another thread.
 *
 * 1. A client that does not read makes the writer wait, as on one thread: at most `unreadBytes` are on
 *    the way to it.
 * 2. A thread that is gone has left all it watched.
 *
 * The thread that has the client gives each viewer a number. It is sent `frame` and `end`, and sends back
 * `taken`, with the number of bytes that the client took, and `left`.
 */
import type { FrameSink } from '../logs/viewers/viewer.ts';
import type { PortCalls } from './port-calls.ts';

const unreadBytes = 256 * 1024;

type Frame = [viewer: number, bytes: Uint8Array];
type End = [viewer: number, bytes: Uint8Array | null];
type Taken = [viewer: number, count: number];

interface RemoteSink {
  sink: FrameSink;
  /** Bytes written while the socket was full; they count as taken when it has room again. */
  heldBytes: number;
}

/** The sinks of this thread's clients that another thread writes to. */
export class RemoteSinks {
  readonly #port: PortCalls;
  readonly #call: string;
  readonly #sinks = new Map<number, RemoteSink>();
  #lastViewer = 0;

  constructor(port: PortCalls, call: string) {
    this.#port = port;
    this.#call = call;
    port.handle(`${call}.frame`, (input) => this.#frame(...(input as Frame)));
    port.handle(`${call}.end`, (input) => {
      const [viewer, bytes] = input as End;
      const remote = this.#sinks.get(viewer);
      this.#sinks.delete(viewer);
      remote?.sink.end(bytes ?? undefined);
    });
  }

  /** A viewer for a sink; `leave` says that its client has left. */
  add(sink: FrameSink): { viewer: number; leave: () => void } {
    const viewer = ++this.#lastViewer;
    const remote: RemoteSink = { sink, heldBytes: 0 };
    this.#sinks.set(viewer, remote);
    sink.onWritable(() => {
      const count = remote.heldBytes;
      remote.heldBytes = 0;
      if (count > 0) this.#taken(viewer, count);
    });
    const leave = (): void => {
      if (this.#sinks.delete(viewer)) this.#port.tell(`${this.#call}.left`, viewer);
    };
    return { viewer, leave };
  }

  #frame(viewer: number, bytes: Uint8Array): void {
    const remote = this.#sinks.get(viewer);
    if (remote === undefined) return;
    const taken = remote.sink.write(bytes) && remote.heldBytes === 0;
    if (taken) this.#taken(viewer, bytes.length);
    else remote.heldBytes += bytes.length;
  }

  #taken(...taken: Taken): void {
    this.#port.tell(`${this.#call}.taken`, taken);
  }
}

/** The viewers of another thread, which this one writes to. */
export class PortSinks {
  readonly #port: PortCalls;
  readonly #call: string;
  readonly #watched = new Map<number, { sink: PortSink; left: () => void }>();

  constructor(port: PortCalls, call: string) {
    this.#port = port;
    this.#call = call;
    port.handle(`${call}.taken`, (input) => {
      const [viewer, count] = input as Taken;
      this.#watched.get(viewer)?.sink.taken(count);
    });
    port.handle(`${call}.left`, (viewer) => this.#leave(viewer as number));
    port.onClose(() => {
      for (const viewer of [...this.#watched.keys()]) this.#leave(viewer);
    });
  }

  /** `begin` starts what writes to the viewer, and returns what to call when its client has left. */
  watch(viewer: number, begin: (sink: FrameSink) => () => void): void {
    const sink = new PortSink(this.#port, this.#call, viewer, () => this.#watched.delete(viewer));
    const left = begin(sink);
    if (!sink.closed) this.#watched.set(viewer, { sink, left });
  }

  #leave(viewer: number): void {
    const watching = this.#watched.get(viewer);
    this.#watched.delete(viewer);
    watching?.sink.close();
    watching?.left();
  }
}

/** A stream whose socket is on another thread. */
class PortSink implements FrameSink {
  readonly #port: PortCalls;
  readonly #call: string;
  readonly #viewer: number;
  readonly #ended: () => void;
  #unreadBytes = 0;
  #closed = false;
  #writable: (() => void) | undefined;

  constructor(port: PortCalls, call: string, viewer: number, ended: () => void) {
    this.#port = port;
    this.#call = call;
    this.#viewer = viewer;
    this.#ended = ended;
  }

  get closed(): boolean {
    return this.#closed;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#closed) return false;
    this.#unreadBytes += chunk.length;
    // A copy: the whole pool would cross with bytes of it.
    const frame: Frame = [this.#viewer, new Uint8Array(chunk)];
    this.#port.tell(`${this.#call}.frame`, frame);
    return this.#unreadBytes < unreadBytes;
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  taken(count: number): void {
    const wasFull = this.#unreadBytes >= unreadBytes;
    this.#unreadBytes -= count;
    if (wasFull && this.#unreadBytes < unreadBytes && !this.#closed) this.#writable?.();
  }

  end(lastChunk?: Uint8Array): void {
    if (this.#closed) return;
    this.#closed = true;
    const bytes = lastChunk === undefined ? null : new Uint8Array(lastChunk);
    const end: End = [this.#viewer, bytes];
    this.#port.tell(`${this.#call}.end`, end);
    this.#ended();
  }

  /** The client has left. */
  close(): void {
    this.#closed = true;
  }
}
