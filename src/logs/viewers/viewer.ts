/**
 * Owns what is kept for one open log stream: who opened it, its offset, its socket. It is one flat
 * object without timers, queues or listeners of its own, because there may be very many.
 */

/** What a stream is written to, such as the gateway's response stream. */
export interface FrameSink {
  readonly closed: boolean;
  /** False when the socket is full; the chunk is sent nevertheless. */
  write(chunk: Uint8Array): boolean;
  onWritable(callback: () => void): void;
  end(lastChunk?: Uint8Array): void;
}

/** The person who opened a stream, as the gateway resolved them. */
export interface Person {
  kind: 'person';
  userId: string;
  sessionId: string;
  teamId: string | null;
}

/** What serves a viewer. */
export interface ViewerHome {
  /** Writes bytes that are not a frame of the log, such as a ping. */
  write(viewer: Viewer, bytes: Uint8Array): void;
  remove(viewer: Viewer): void;
}

/**
 * - `live`: it has everything, and gets a frame a flush
 * - `catching`: it is behind, and catches up as fast as its socket takes bytes
 * - `stalled`: its socket is full; nothing is sent until it is writable
 * - `closed`: its client left, or the stream has ended
 */
export type ViewerPhase = 'live' | 'catching' | 'stalled' | 'closed';

export interface Viewer {
  readonly sessionId: string;
  readonly person: Person;
  /** The app or database it watches, for checking the person's rights again. */
  readonly resourceId: string;
  readonly sink: FrameSink;
  readonly home: ViewerHome;
  readonly timestamps: boolean;
  readonly notices: boolean;
  phase: ViewerPhase;
  /** Offset of the next line to send. */
  nextOffset: number;
  /** Number of the last notice sent. */
  noticeNumber: number;
  /** Its index among the fan-out's viewers, and its spoke on the ping wheel; -1: none. */
  place: number;
  spoke: number;
  /** Made when it stalls for the first time. */
  onWritable: (() => void) | undefined;
}
