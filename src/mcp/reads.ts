/**
 * Owns the counts of reads over MCP, by token, day, client, team and tool. They are counted in memory and
 * written into the activity a little later. (Changes are recorded in the activity by themselves.)
 *
 * 1. `note` is a look-up and an addition. Only the first read of a token on a day reads the store.
 * 2. The first read of a token is written within seconds, later ones within a minute. That is a few commits
 *    a minute, however many tokens read.
 * 3. Whole counts are written, so writing twice changes nothing. After a restart the counts continue from
 *    the written ones. A crash loses a minute of them.
 * 4. Each day eight clients of a token are counted by name, the others as `other`. Above `rowsMax` rows
 *    nothing more is counted, and the log says so.
 */
import { activityLog } from '../actors/activity/protocol.ts';
import { readsOfDay, type ReadsOfDay } from '../actors/activity/reads.ts';
import type { Actors } from '../actors/runtime/actor.ts';
import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { shownText } from '../lib/names.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import type { McpPrincipal } from './tool.ts';

/** Counts reads. */
export interface ReadCounter {
  /** Counts a read. `client` is the client's own name, `tool` the name of a known tool. */
  note(principal: McpPrincipal, client: string | null, tool: string): void;
}

export interface McpReadsOptions {
  actors: Pick<Actors, 'ask'>;
  reader: Reader;
  clock: Clock;
  log: Logger;
  /** Rows kept in memory; default 10,000. */
  rowsMax?: number;
}

type Row = Omit<ReadsOfDay, 'calls' | 'lastMs'> & {
  readonly calls: Record<string, number>;
  lastMs: number;
};

const dayMs = 86_400_000;
const clientMax = 100;
const clientsMax = 8;
const otherClient = 'other';
const firstWriteMs = 1_000;
const firstWriteApartMs = 10_000;
const writeMs = 60_000;
const writtenAtOnce = 500;

export class McpReads implements ReadCounter {
  readonly #options: Required<McpReadsOptions>;
  /** The rows of today, by token. */
  readonly #rows = new Map<string, Row[]>();
  #rowCount = 0;
  #day = '';
  #dayEndMs = 0;
  /** Rows with unwritten reads, even of earlier days. */
  #due = new Set<Row>();
  #writtenAtMs = 0;
  #writeAtMs = Infinity;
  #cancel: () => void = () => undefined;
  #writing: Promise<void> | null = null;
  #dropped = 0;
  #closed = false;

  constructor(options: McpReadsOptions) {
    this.#options = { rowsMax: 10_000, ...options };
  }

  note(principal: McpPrincipal, client: string | null, tool: string): void {
    const now = this.#options.clock.now();
    if (now >= this.#dayEndMs) this.#beginDay(now);
    const row = this.#rowOf(principal, client, now);
    if (row === null) {
      this.#dropped += 1;
      return;
    }
    row.calls[tool] = (row.calls[tool] ?? 0) + 1;
    row.lastMs = now;
    this.#markDue(row, now + writeMs);
  }

  /** Writes the rest. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#writing;
    await this.#write();
  }

  #beginDay(now: number): void {
    this.#day = new Date(now).toISOString().slice(0, 10);
    this.#dayEndMs = (Math.floor(now / dayMs) + 1) * dayMs;
    this.#rows.clear();
    this.#rowCount = this.#due.size;
  }

  /** Null: there is no room for one more. */
  #rowOf(principal: McpPrincipal, client: string | null, now: number): Row | null {
    const who = principal.kind === 'token' ? principal.tokenId : principal.userId;
    const rows = this.#rows.get(who) ?? this.#rowsBefore(who);
    const { teamId } = principal;
    return find(rows, teamId, client) ?? this.#rowByName(rows, principal, client, now);
  }

  #rowByName(rows: Row[], principal: McpPrincipal, name: string | null, now: number): Row | null {
    const { userId, teamId } = principal;
    const shown = shownText(name ?? '', clientMax);
    const client = shown === '' ? null : mayHaveName(rows, shown) ? shown : otherClient;
    const known = find(rows, teamId, client);
    if (known !== undefined) return known;
    if (this.#rowCount >= this.#options.rowsMax) return null;
    const tokenId = principal.kind === 'token' ? principal.tokenId : null;
    const times = { firstMs: now, lastMs: now };
    const who = { day: this.#day, teamId, userId, tokenId, client };
    const row: Row = { id: newId('act', now), ...who, calls: {}, ...times };
    rows.push(row);
    this.#rowCount += 1;
    this.#markDue(row, Math.max(now + firstWriteMs, this.#writtenAtMs + firstWriteApartMs));
    return row;
  }

  /** The written rows of a token today, from before a restart or before they were dropped from memory. */
  #rowsBefore(who: string): Row[] {
    const rows: Row[] = readsOfDay(this.#options.reader, this.#day, who);
    this.#rows.set(who, rows);
    this.#rowCount += rows.length;
    return rows;
  }

  #markDue(row: Row, atMs: number): void {
    if (this.#due.has(row)) return;
    this.#due.add(row);
    this.#writeBy(atMs);
  }

  #writeBy(atMs: number): void {
    if (this.#closed || atMs >= this.#writeAtMs) return;
    this.#cancel();
    this.#writeAtMs = atMs;
    const { clock } = this.#options;
    this.#cancel = clock.after(atMs - clock.now(), () => void this.#write());
  }

  /** Writes the due rows. Never rejects. One write runs at a time; the next one includes later reads. */
  #write(): Promise<void> {
    this.#cancel();
    this.#writeAtMs = Infinity;
    this.#writing ??= this.#writeDue().finally(() => {
      this.#writing = null;
      if (this.#due.size > 0) this.#writeBy(this.#options.clock.now() + writeMs);
    });
    return this.#writing;
  }

  async #writeDue(): Promise<void> {
    const { actors, clock, log } = this.#options;
    const rows = [...this.#due];
    this.#due.clear();
    this.#writtenAtMs = clock.now();
    for (let start = 0; start < rows.length; start += writtenAtOnce) {
      const some = rows.slice(start, start + writtenAtOnce);
      try {
        await actors.ask(activityLog, { type: 'reads', reads: structuredClone(some) });
      } catch (thrown) {
        log.warn({ err: thrown, rows: some.length }, 'mcp_reads_not_told');
        for (const row of some) this.#markDue(row, clock.now() + writeMs);
      }
    }
    if (this.#dropped > 0) log.warn({ reads: this.#dropped }, 'mcp_reads_not_counted');
    this.#dropped = 0;
    if (this.#rowCount > this.#options.rowsMax / 2) this.#forget();
  }

  /** Makes room: written rows can be read from the store again. */
  #forget(): void {
    for (const [who, rows] of this.#rows) {
      if (rows.some((row) => this.#due.has(row))) continue;
      this.#rows.delete(who);
      this.#rowCount -= rows.length;
    }
  }
}

function find(rows: readonly Row[], teamId: string, client: string | null): Row | undefined {
  return rows.find((row) => row.client === client && row.teamId === teamId);
}

function mayHaveName(rows: readonly Row[], client: string): boolean {
  const names = new Set(rows.map((row) => row.client));
  names.delete(null);
  names.delete(otherClient);
  return names.has(client) || names.size < clientsMax;
}
