/**
 * Owns how often each token read what over MCP, by day, client and team: counted in memory, told to
 * the activity a little later (changes are in it by themselves).
 *
 * 1. `note` is a look-up and an addition; only the first read of a token on a day looks into the store.
 * 2. The first read by somebody is told within seconds, later ones within a minute; however many read,
 *    that is a few commits a minute.
 * 3. Counts are told as they stand, so that telling twice changes nothing; after a restart they go on
 *    from what was told. A crash loses a minute of them.
 * 4. Bounded: of a token's clients eight a day have their own names, the rest is `other`; above
 *    `rowsMax` rows nothing more is counted, and the log says so.
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
  /** Counts a read. `client` is what the client calls itself, `tool` the name of a tool there is. */
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
  readonly calls: Map<string, number>;
  lastMs: number;
  /** Whether it has reads that are still to be told. */
  due: boolean;
};

const dayMs = 86_400_000;
const clientMax = 100;
const clientsMax = 8;
const otherClient = 'other';
const firstToldMs = 1_000;
const firstToldApartMs = 10_000;
const toldMs = 60_000;
const toldAtOnce = 500;

export class McpReads implements ReadCounter {
  readonly #options: Required<McpReadsOptions>;
  /** Of today, by token. */
  readonly #rows = new Map<string, Row[]>();
  #rowCount = 0;
  #day = '';
  #dayEndMs = 0;
  /** Rows to be told, also of days before. */
  #due: Row[] = [];
  #toldAtMs = 0;
  #tellAtMs = Infinity;
  #cancel: () => void = () => undefined;
  #telling: Promise<void> | null = null;
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
    row.calls.set(tool, (row.calls.get(tool) ?? 0) + 1);
    row.lastMs = now;
    if (!row.due) this.#toBeTold(row, now + toldMs);
  }

  /** Tells what is left to tell. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#telling;
    await this.#tell();
  }

  #beginDay(now: number): void {
    this.#day = new Date(now).toISOString().slice(0, 10);
    this.#dayEndMs = (Math.floor(now / dayMs) + 1) * dayMs;
    this.#rows.clear();
    this.#rowCount = this.#due.length;
  }

  /** Null: there is no room for one more. */
  #rowOf(principal: McpPrincipal, client: string | null, now: number): Row | null {
    const who = principal.kind === 'token' ? principal.tokenId : principal.userId;
    const rows = this.#rows.get(who) ?? this.#rowsBefore(who);
    const { teamId } = principal;
    return find(rows, teamId, client) ?? this.#rowByName(rows, principal, client, now);
  }

  #rowByName(rows: Row[], principal: McpPrincipal, said: string | null, now: number): Row | null {
    const { userId, teamId } = principal;
    const shown = shownText(said ?? '', clientMax);
    const client = shown === '' ? null : mayHaveName(rows, shown) ? shown : otherClient;
    const known = find(rows, teamId, client);
    if (known !== undefined) return known;
    if (this.#rowCount >= this.#options.rowsMax) return null;
    const tokenId = principal.kind === 'token' ? principal.tokenId : null;
    const times = { firstMs: now, lastMs: now };
    const who = { day: this.#day, teamId, userId, tokenId, client };
    const row: Row = { id: newId('act', now), ...who, calls: new Map(), ...times, due: false };
    rows.push(row);
    this.#rowCount += 1;
    this.#toBeTold(row, Math.max(now + firstToldMs, this.#toldAtMs + firstToldApartMs));
    return row;
  }

  /** What was told of a token today, before a restart or before it was forgotten here. */
  #rowsBefore(who: string): Row[] {
    const told = readsOfDay(this.#options.reader, this.#day, who);
    const rows = told.map(({ calls, ...reads }): Row => {
      return { ...reads, calls: new Map(Object.entries(calls)), due: false };
    });
    this.#rows.set(who, rows);
    this.#rowCount += rows.length;
    return rows;
  }

  #toBeTold(row: Row, atMs: number): void {
    row.due = true;
    this.#due.push(row);
    this.#tellBy(atMs);
  }

  #tellBy(atMs: number): void {
    if (this.#closed || atMs >= this.#tellAtMs) return;
    this.#cancel();
    this.#tellAtMs = atMs;
    const { clock } = this.#options;
    this.#cancel = clock.after(atMs - clock.now(), () => {
      void this.#tell();
    });
  }

  /** Never rejects. One at a time: what came meanwhile is told by the next. */
  #tell(): Promise<void> {
    this.#cancel();
    this.#tellAtMs = Infinity;
    this.#telling ??= this.#tellDue().finally(() => {
      this.#telling = null;
      if (this.#due.length > 0) this.#tellBy(this.#options.clock.now() + toldMs);
    });
    return this.#telling;
  }

  async #tellDue(): Promise<void> {
    const { actors, clock, log } = this.#options;
    const rows = this.#due;
    this.#due = [];
    this.#toldAtMs = clock.now();
    for (const row of rows) row.due = false;
    for (let start = 0; start < rows.length; start += toldAtOnce) {
      const some = rows.slice(start, start + toldAtOnce);
      try {
        await actors.ask(activityLog, { type: 'reads', reads: some.map(plain) });
      } catch (thrown) {
        log.warn({ err: thrown, rows: some.length }, 'mcp_reads_not_told');
        for (const row of some) if (!row.due) this.#toBeTold(row, clock.now() + toldMs);
      }
    }
    if (this.#dropped > 0) log.warn({ reads: this.#dropped }, 'mcp_reads_not_counted');
    this.#dropped = 0;
    if (this.#rowCount > this.#options.rowsMax / 2) this.#forget();
  }

  /** Makes room: what has been told can be read again. */
  #forget(): void {
    for (const [who, rows] of this.#rows) {
      if (rows.some(({ due }) => due)) continue;
      this.#rows.delete(who);
      this.#rowCount -= rows.length;
    }
  }
}

function find(rows: readonly Row[], teamId: string, client: string | null): Row | undefined {
  for (const row of rows) if (row.client === client && row.teamId === teamId) return row;
  return undefined;
}

function mayHaveName(rows: readonly Row[], client: string): boolean {
  const names = new Set(rows.map((row) => row.client));
  names.delete(null);
  names.delete(otherClient);
  return names.has(client) || names.size < clientsMax;
}

function plain(row: Row): ReadsOfDay {
  const { id, day, teamId, userId, tokenId, client, firstMs, lastMs } = row;
  const calls = Object.fromEntries(row.calls);
  return { id, day, teamId, userId, tokenId, client, calls, firstMs, lastMs };
}
