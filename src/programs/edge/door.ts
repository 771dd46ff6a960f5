/**
 * Owns when new connections are let in. Each takes the loop that all share for a millisecond or more, until its
 * request has been to an app and back.
 *
 * 1. So many of a client come in at once, and then one after the other at a steady pace. The order is kept.
 * 2. A client is forgotten when it could come with as many at once again.
 */
import type { Socket } from 'node:net';

import type { Clock } from '../../lib/clock.ts';

export interface Pace {
  atOnce: number;
  everyMs: number;
}

interface Line {
  pace: Pace;
  /** How many may come in, as of then. */
  room: number;
  atMs: number;
  /** What lets each of them in. */
  waiting: Map<Socket, () => void>;
}

const lookMs = 4;

export class Door {
  readonly #clock: Clock;
  /** By the names of clients. */
  readonly #lines = new Map<string, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `letIn` for a new connection, at once or when its turn comes. Until then nobody reads it. */
  come(client: string, pace: Pace, socket: Socket, letIn: () => void): void {
    const line = this.#lineOf(client, pace);
    if (line.waiting.size === 0 && line.room >= 1) {
      line.room--;
      letIn();
      return;
    }
    line.waiting.set(socket, letIn);
  }

  isWaiting(client: string, socket: Socket): boolean {
    return this.#lines.get(client)?.waiting.has(socket) === true;
  }

  /** It waits no more, and is not let in either. */
  leave(client: string, socket: Socket): void {
    this.#lines.get(client)?.waiting.delete(socket);
  }

  #lineOf(client: string, pace: Pace): Line {
    if (this.#lines.size === 0) this.#lookLater();
    const known = this.#lines.get(client);
    if (known !== undefined) {
      this.#fill(known);
      return known;
    }
    const line = {
      pace,
      room: pace.atOnce,
      atMs: this.#clock.now(),
      waiting: new Map<Socket, () => void>(),
    };
    this.#lines.set(client, line);
    return line;
  }

  #fill(line: Line): void {
    const { atOnce, everyMs } = line.pace;
    const now = this.#clock.now();
    // A clock may be set back.
    const more = Math.max(now - line.atMs, 0) / everyMs;
    line.room = Math.min(line.room + more, atOnce);
    line.atMs = now;
  }

  #lookLater(): void {
    this.#clock.after(lookMs, () => {
      for (const [client, line] of this.#lines) {
        this.#fill(line);
        this.#letIn(line);
        if (line.room === line.pace.atOnce) this.#lines.delete(client);
      }
      if (this.#lines.size > 0) this.#lookLater();
    });
  }

  #letIn(line: Line): void {
    for (const [socket, letIn] of line.waiting) {
      if (line.room < 1) return;
      line.room--;
      line.waiting.delete(socket);
      letIn();
    }
  }
}
