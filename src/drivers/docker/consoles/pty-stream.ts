/**
 * Owns one open terminal: the bytes of its connection, its size and its end.
 *
 * 1. `exit` is called once, after all output. Calls after the end do nothing.
 * 2. Sizes are set one after the other; of those that wait only the newest is set. Input after a new size
 *    reaches the program after that size.
 */
import type { Duplex } from 'node:stream';

import type { Logger } from '../../../lib/log.ts';
import type { Terminal, TerminalEvents } from '../../driver.ts';

export interface PtyStreamParts {
  socket: Duplex;
  events: TerminalEvents;
  resize: (cols: number, rows: number) => Promise<void>;
  /** Ends the program, with everything it started. */
  end: () => Promise<void>;
  exit: () => Promise<{ code: number | null; lost: boolean }>;
  logger: Logger;
}

const sizeMax = 1000;

export class PtyStream implements Terminal {
  readonly #parts: PtyStreamParts;
  #phase: 'open' | 'closing' | 'ended' = 'open';
  #nextSize: { cols: number; rows: number } | null = null;
  #sizing = false;
  /**
   * Input that came while a size is being set. It is sent after that, because sizes go over another
   * connection.
   */
  #held: Buffer[] = [];

  constructor(parts: PtyStreamParts) {
    this.#parts = parts;
    const { socket } = parts;
    socket.on('data', (chunk: Buffer) => {
      if (this.#phase === 'open') parts.events.output(chunk);
    });
    const over = (): void => {
      void this.#finish();
    };
    socket.once('end', over);
    socket.once('close', over);
    socket.on('error', over);
  }

  get unwritten(): number {
    if (this.#phase !== 'open') return 0;
    return this.#held.reduce((sum, { length }) => sum + length, this.#parts.socket.writableLength);
  }

  write(bytes: Uint8Array): void {
    if (this.#phase !== 'open') return;
    if (this.#sizing) this.#held.push(Buffer.from(bytes));
    else this.#parts.socket.write(Buffer.from(bytes));
  }

  resize(cols: number, rows: number): void {
    if (this.#phase !== 'open') return;
    if (![cols, rows].every((n) => Number.isInteger(n) && n >= 1 && n <= sizeMax)) return;
    this.#nextSize = { cols, rows };
    if (!this.#sizing) void this.#size();
  }

  pause(): void {
    this.#parts.socket.pause();
  }

  resume(): void {
    if (this.#phase === 'open') this.#parts.socket.resume();
  }

  close(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'closing';
    const { socket, end, logger } = this.#parts;
    // The caller reads no further, so output that is still on its way is dropped.
    socket.resume();
    end()
      .catch((error: unknown) => logger.warn({ err: error }, 'terminal_not_ended'))
      .finally(() => {
        socket.destroy();
        void this.#finish();
      });
  }

  /**
   * Closes because the connection ended, and reports the exit as lost. Resolves when the program has ended.
   */
  async lose(): Promise<void> {
    if (this.#phase !== 'open') return;
    this.#phase = 'ended';
    const { socket, end, events } = this.#parts;
    await end().catch(() => undefined);
    socket.destroy();
    events.exit({ code: null, lost: true });
  }

  async #size(): Promise<void> {
    this.#sizing = true;
    while (this.#nextSize && this.#phase === 'open') {
      const { cols, rows } = this.#nextSize;
      this.#nextSize = null;
      try {
        await this.#parts.resize(cols, rows);
      } catch (error) {
        // The terminal ended meanwhile; its connection reports that.
        this.#parts.logger.debug({ err: error }, 'terminal_not_sized');
      }
    }
    this.#sizing = false;
    for (const bytes of this.#held.splice(0)) this.write(bytes);
  }

  async #finish(): Promise<void> {
    if (this.#phase === 'ended') return;
    const closing = this.#phase === 'closing';
    this.#phase = 'ended';
    const { socket, events, exit, end } = this.#parts;
    socket.destroy();
    const { code, lost } = await exit();
    // The program must not run on unattended.
    if (lost && !closing) await end().catch(() => undefined);
    events.exit({ code, lost: lost && !closing });
  }
}
