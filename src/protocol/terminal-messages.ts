/** Owns the messages between a runner and its terminal host: frames over the host's standard streams. */

/** What a program joins, or is given, before its first instruction; plain data. */
export interface Place {
  /** Files that take the number of a process that joins. */
  join: readonly string[];
  /** A file that takes it meanwhile: what starts it takes no more of the processor than its due. Absent: none. */
  launching?: string;
  /** Program and options that set limits and run what is named behind them; null: none. */
  limiter: readonly string[] | null;
  /** Program and options that enter namespaces and run what is named behind them there; absent: none. */
  enter?: readonly string[];
  /** Folder where the machine's terminals lie in there; absent: where they lie on the machine. */
  terminals?: string;
}

/** What runs on a terminal, and how. */
export interface PtySpec {
  /** Empty: the shell of the machine. */
  command: readonly string[];
  workingDir: string;
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
  /** User and group id; null: the host's own. */
  uid: number | null;
  /** What confines it; null: nothing. */
  place: Place | null;
  /** Variables that mark whatever runs there. */
  marks: readonly string[];
  cols: number;
  rows: number;
}

export type HostRequest =
  | { op: 'open'; id: number; spec: PtySpec }
  | { op: 'write'; id: number; bytes: Uint8Array }
  | { op: 'resize'; id: number; cols: number; rows: number }
  /** Room for as many more bytes of output. */
  | { op: 'taken'; id: number; count: number }
  /** Hangs up. */
  | { op: 'close'; id: number };

export type HostEvent =
  | { event: 'opened'; id: number; pid: number }
  /** It could not be opened; nothing follows. */
  | { event: 'refused'; id: number; detail: string }
  | { event: 'output'; id: number; bytes: Uint8Array }
  /** As many bytes of input went to the program; told in lumps. */
  | { event: 'written'; id: number; count: number }
  /** Its first process has ended; what it left behind holds the terminal. */
  | { event: 'left'; id: number }
  /** All output was told; nothing follows. */
  | { event: 'exit'; id: number; code: number | null };
