/**
 * Owns what is kept for one open log stream: who opened it, where it stands, its socket. It is one
 * flat object without timers, queues or listeners of its own, for there may be very many.
 */
/** What a stream is written to; the gateway's response stream is one. */
export interface FrameSink {
  readonly closed: boolean;
  /** False when the socket is full; what was given is sent nevertheless. */
  write(chunk: Uint8Array): boolean;
  onWritable(callback: () => void): void;
  end(lastChunk?: Uint8Array): void;
}

/** Who opened a stream, as the gateway resolved it. */
export interface Person {
  kind: 'person';
  userId: string;
  sessionId: string;
  teamId: string | null;
}

/** What serves a viewer. */
export interface ViewerHome {
  /** Writes bytes that are no frame of the log, such as a ping. */
  write(viewer: Viewer, bytes: Uint8Array): void;
  remove(viewer: Viewer): void;
}

/**
 * - `live`: has everything, gets a frame a flush
 * - `catching`: behind; goes on as fast as its socket takes it
 * - `stalled`: its socket is full; nothing is done until it is writable
 * - `closed`: left or ended
 */
export type ViewerPhase = 'live' | 'catching' | 'stalled' | 'closed';

export interface ViewerInit {
  sessionId: string;
  person: Person;
  /** What it watches, for asking again whether the person may. */
  resourceId: string;
  sink: FrameSink;
  home: ViewerHome;
  nextOffset: number;
  /** Number of the last notice before it came. */
  noticeNumber: number;
  timestamps: boolean;
  notices: boolean;
}

export class Viewer {
  readonly sessionId: string;
  readonly person: Person;
  readonly resourceId: string;
  readonly sink: FrameSink;
  readonly home: ViewerHome;
  readonly timestamps: boolean;
  readonly notices: boolean;
  phase: ViewerPhase = 'catching';
  /** Offset of the next line to send. */
  nextOffset: number;
  /** Number of the last notice sent. */
  noticeNumber: number;
  /** Its place among the fan-out's viewers, and on the ping wheel. */
  place = -1;
  spoke = -1;
  /** Made when it stalls for the first time. */
  onWritable: (() => void) | undefined;

  constructor(init: ViewerInit) {
    this.sessionId = init.sessionId;
    this.person = init.person;
    this.resourceId = init.resourceId;
    this.sink = init.sink;
    this.home = init.home;
    this.nextOffset = init.nextOffset;
    this.timestamps = init.timestamps;
    this.notices = init.notices;
    this.noticeNumber = init.noticeNumber;
  }
}
