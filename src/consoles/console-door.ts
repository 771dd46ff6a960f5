/** Owns the interface of consoles, on one thread or over several. */
import type { CloseOutcome } from '../logs/viewers/stream-room.ts';
import type { FrameSink, Person } from '../logs/viewers/viewer.ts';

/** What a console is opened in. */
export interface ConsoleTarget {
  kind: 'app' | 'database';
  id: string;
}

export interface OpenConsole {
  person: Person;
  target: ConsoleTarget;
  /** '' for the default. */
  container: string;
  /** 1..1000 each. */
  cols: number;
  rows: number;
  /** `shell`: a program of its own; `attach`: the streams of the program that runs there. */
  mode: 'shell' | 'attach';
  /** Where it was opened from, for the activity. */
  address: string;
  userAgent: string;
}

/** A console as a caller names it. */
export interface NamedConsole {
  sessionId: string;
  /** Whoever asks. */
  person: Person;
  target: ConsoleTarget;
}

export interface ConsoleSize {
  cols: number;
  rows: number;
}

/** The consoles of an instance, from any thread. */
export interface ConsoleDoor {
  /**
   * Opens a console, which waits for its first viewer; resolves with its id. Rejects: TOO_MANY_STREAMS,
   * NOT_RUNNING, NO_SUCH_CONTAINER, AGENT_UNREACHABLE, BAD_USER_INPUT, SHUTTING_DOWN, OVERLOADED,
   * FORBIDDEN.
   */
  open(wanted: OpenConsole): Promise<string>;
  /** Resolves when the caller may watch it; rejects as `write` does. */
  admit(named: NamedConsole, size: ConsoleSize | null): Promise<void>;
  /**
   * Shows it in a stream until its end: `session`, the last output, and all further output. An earlier
   * viewer's stream ends. Returns what to call when the client has left.
   */
  watch(named: NamedConsole, sink: FrameSink): () => void;
  /** Rejects: NO_SUCH_SESSION, FORBIDDEN, RATE_LIMITED while its program does not read. */
  write(named: NamedConsole, input: Uint8Array): Promise<void>;
  /** Rejects: NO_SUCH_SESSION, FORBIDDEN. */
  resize(named: NamedConsole, size: ConsoleSize): Promise<void>;
  close(named: NamedConsole): Promise<CloseOutcome>;
}

/** What a console or a command runs, and in which workload. */
export interface ConsoleProgram {
  workloadId: string;
  /** Empty: the shell of the place. */
  command: readonly string[];
  env: Readonly<Record<string, string>>;
}

/**
 * What can be run in an app or a database. Each rejects: NOT_RUNNING, NO_SUCH_CONTAINER,
 * ENGINE_NOT_AVAILABLE.
 */
export interface ConsolePrograms {
  /** What a console runs. */
  program(target: ConsoleTarget, container: string): Promise<ConsoleProgram>;
  /** What one command runs: a line for the shell of an app, a statement for the client of a database. */
  command(target: ConsoleTarget, container: string, line: string): Promise<ConsoleProgram>;
}
