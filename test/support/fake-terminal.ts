/** A terminal that keeps what is asked of it and shows what it is told to, for tests. */
import type { Terminal, TerminalEvents } from '../../src/drivers/driver.ts';

export class FakeTerminal implements Terminal {
  unwritten = 0;
  readonly written: string[] = [];
  readonly sizes: string[] = [];
  paused = false;
  closed = false;
  readonly events: TerminalEvents;

  constructor(events: TerminalEvents) {
    this.events = events;
  }

  write(bytes: Uint8Array): void {
    this.written.push(Buffer.from(bytes).toString());
  }

  resize(cols: number, rows: number): void {
    this.sizes.push(`${String(cols)}x${String(rows)}`);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  close(): void {
    this.closed = true;
  }

  show(text: string): void {
    this.events.output(Buffer.from(text));
  }
}
