/**
 * Owns the terminals of one connection to a runner, on the driver's side.
 *
 * 1. Output is reported in order, then `exit` once. A lost connection is an exit, too.
 * 2. While a terminal is paused, what the runner still sends waits here. One that sends far more than its window allows
 *    may mean harm: its terminal is lost then.
 */
import type { Terminal, TerminalEvents } from '../driver.ts';
import type { TerminalSpec } from '../../protocol/workload.ts';
import {
  type RunnerRequest,
  type TerminalFrame,
  terminalWindowBytes,
} from '../../protocol/runner-messages.ts';

/** Output is acknowledged to the runner in steps of this size. */
const takenLump = 32 * 1024;
/** Pieces below this size are put together while they wait. */
const heldLump = 1024;

/** The part of the connection that terminals need. */
interface RunnerLink {
  request(request: Extract<RunnerRequest, { op: 'terminal-open' }>): Promise<null>;
  tell(request: RunnerRequest): void;
}

export class Terminals {
  readonly #connection: RunnerLink;
  readonly #open = new Map<number, ProcessTerminal>();
  #lastNumber = 0;

  constructor(connection: RunnerLink) {
    this.#connection = connection;
  }

  /** Rejects as the runner does, or with ConnectionLost. */
  async open(workload: string, spec: TerminalSpec, events: TerminalEvents): Promise<Terminal> {
    const terminal = ++this.#lastNumber;
    const opened = new ProcessTerminal(this.#connection, terminal, events);
    // Output may arrive together with the answer.
    this.#open.set(terminal, opened);
    try {
      await this.#connection.request({ op: 'terminal-open', workload, terminal, spec });
    } catch (error) {
      this.#open.delete(terminal);
      throw error;
    }
    return opened;
  }

  hear(frame: TerminalFrame): void {
    const terminal = this.#open.get(frame.terminal);
    if (terminal === undefined) return;
    if (frame.event === 'terminal-exit') this.#open.delete(frame.terminal);
    terminal.hear(frame);
  }

  /** The connection is gone. */
  lose(): void {
    const left = [...this.#open.keys()];
    for (const terminal of left) {
      this.hear({ event: 'terminal-exit', terminal, code: null, lost: true });
    }
  }
}

class ProcessTerminal implements Terminal {
  readonly #connection: Pick<RunnerLink, 'tell'>;
  readonly #number: number;
  readonly #events: TerminalEvents;
  /** Output that came while it was paused; null while it is not paused. */
  #held: Buffer[] | null = null;
  #heldExit: Extract<TerminalFrame, { event: 'terminal-exit' }> | null = null;
  #taken = 0;
  #unwritten = 0;
  #ended = false;

  constructor(connection: Pick<RunnerLink, 'tell'>, number: number, events: TerminalEvents) {
    this.#connection = connection;
    this.#number = number;
    this.#events = events;
  }

  get unwritten(): number {
    return this.#unwritten;
  }

  hear(frame: TerminalFrame): void {
    switch (frame.event) {
      case 'terminal-output':
        if (this.#held === null) this.#output(frame.bytes);
        else this.#hold(this.#held, frame.bytes);
        return;
      case 'terminal-written':
        this.#unwritten = Math.max(0, this.#unwritten - frame.count);
        return;
      case 'terminal-exit':
        if (this.#held !== null && this.#held.length > 0 && !frame.lost) this.#heldExit = frame;
        else this.#exit(frame);
    }
  }

  write(bytes: Uint8Array): void {
    if (this.#ended || bytes.length === 0) return;
    this.#unwritten += bytes.length;
    this.#connection.tell({ op: 'terminal-write', terminal: this.#number, bytes });
  }

  resize(cols: number, rows: number): void {
    if (this.#ended) return;
    this.#connection.tell({ op: 'terminal-resize', terminal: this.#number, cols, rows });
  }

  pause(): void {
    if (!this.#ended) this.#held ??= [];
  }

  resume(): void {
    const held = this.#held;
    this.#held = null;
    for (const [index, bytes] of (held ?? []).entries()) {
      if (this.#isPaused()) {
        // The listener paused again.
        this.#held = (held ?? []).slice(index);
        return;
      }
      this.#output(bytes);
    }
    if (this.#heldExit !== null && !this.#isPaused()) this.#exit(this.#heldExit);
  }

  close(): void {
    if (this.#ended) return;
    this.#held = null;
    if (this.#heldExit !== null) this.#exit(this.#heldExit);
    else this.#connection.tell({ op: 'terminal-close', terminal: this.#number });
  }

  #isPaused(): boolean {
    return this.#held !== null;
  }

  /** A copy: what came may be a small part of a large frame. */
  #hold(held: Buffer[], bytes: Uint8Array): void {
    const isSmall = (held.at(-1)?.length ?? heldLump) < heldLump;
    const last = isSmall ? held.splice(-1) : [];
    held.push(Buffer.concat([...last, bytes]));
    const heldBytes = held.reduce((sum, { length }) => sum + length, 0);
    if (heldBytes <= 2 * terminalWindowBytes) return;
    this.close();
    this.#exit({ code: null, lost: true });
  }

  #output(bytes: Uint8Array): void {
    if (this.#ended) return;
    this.#events.output(bytes);
    this.#taken += bytes.length;
    if (this.#taken < takenLump) return;
    const count = this.#taken;
    this.#taken = 0;
    this.#connection.tell({ op: 'terminal-taken', terminal: this.#number, count });
  }

  #exit({ code, lost }: { code: number | null; lost: boolean }): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.exit({ code, lost });
  }
}
