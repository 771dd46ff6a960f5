/**
 * Owns one open terminal: the bytes of its connection, its size and its end.
 *
 * 1. `exit` is told once, after all output; calls after the end do nothing.
 * 2. Sizes are set one after the other, and only the newest of those that wait; what is typed behind one
 *    comes behind it.
 */
import type { Duplex } from 'node:stream';

import type { Logger } from '../../../lib/log.ts';
import type { Terminal, TerminalEvents } from '../../driver.ts';

export interface PtyStreamParts {
  socket: Duplex;
  events: TerminalEvents;
  resize: (cols: number, rows: number) => Promise<void>;
  /** Ends what runs, with all it started. */
  end: () => Promise<void>;
  exit: () => Promise<{ code: number | null; lost: boolean }>;
  logger: Logger;
  /** From bytes of the connection to output; default: as they are. */
  decode?: (chunk: Buffer) => readonly Buffer[];
}

const sizeMax = 1000;

export class PtyStream implements Terminal {
  readonly #parts: PtyStreamParts;
  #phase: 'open' | 'closing' | 'ended' = 'open';
  #nextSize: { cols: number; rows: number } | null = null;
  #sizing = false;
  /** Typed while the size is on its way, by another connection: it is to be seen after it. */
  #held: Buffer[] = [];

  constructor(parts: PtyStreamParts) {
    this.#parts = parts;
    const { socket } = parts;
    socket.on('data', (chunk: Buffer) => this.#hear(chunk));
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
    // What is still on its way is not waited for: who closes does not read on.
    socket.resume();
    end()
      .catch((error: unknown) => logger.warn({ err: error }, 'terminal_not_ended'))
      .finally(() => {
        socket.destroy();
        void this.#finish();
      });
  }

  /** As `close`, because the connection ends: it is told as lost. Resolves when that was told. */
  async lose(): Promise<void> {
    if (this.#phase !== 'open') return;
    this.#phase = 'ended';
    const { socket, end, events } = this.#parts;
    await end().catch(() => undefined);
    socket.destroy();
    events.exit({ code: null, lost: true });
  }

  #hear(chunk: Buffer): void {
    if (this.#phase !== 'open') return;
    const { decode, events } = this.#parts;
    for (const bytes of decode ? decode(chunk) : [chunk]) events.output(bytes);
  }

  async #size(): Promise<void> {
    this.#sizing = true;
    while (this.#nextSize && this.#phase === 'open') {
      const { cols, rows } = this.#nextSize;
      this.#nextSize = null;
      try {
        await this.#parts.resize(cols, rows);
      } catch (error) {
        // It ended meanwhile, which its connection tells.
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
    // What ran there must not stay behind unattended.
    if (lost && !closing) await end().catch(() => undefined);
    events.exit({ code, lost: lost && !closing });
  }
}
