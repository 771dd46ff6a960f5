/**
 * Owns reads over MCP on a thread that does not count them: all threads' reads of a day are one entry
 * of the activity, so one thread counts them (see `reads.ts`), and this one tells it.
 *
 * 1. Reads are told a moment later, many at once; none while nobody reads.
 * 2. At most `rowsMax` sorts of reads wait to be told; what comes above that is not counted, and the log
 *    says so.
 */
import { callerOf } from '../auth/callers/principal.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Asking, Handling } from '../lib/port-calls.ts';
import type { McpPrincipal } from '../mcp/tool.ts';
import { clientMax, type ReadCounter } from '../mcp/reads.ts';

/** How often somebody read something since it was last told; plain data. */
export interface ReadsToTell {
  principal: McpPrincipal;
  client: string | null;
  tool: string;
  count: number;
}

/** Calls to the thread that counts. */
export type ReadCalls = {
  'mcp.reads': { in: readonly ReadsToTell[]; out: unknown };
};

export interface RemoteReadsOptions {
  home: Asking<ReadCalls>;
  clock: Clock;
  log: Logger;
  /** Default 10,000. */
  rowsMax?: number;
}

const toldMs = 250;

export class RemoteReads implements ReadCounter {
  readonly #options: RemoteReadsOptions;
  readonly #rowsMax: number;
  #rows = new Map<string, ReadsToTell>();
  #cancel: (() => void) | null = null;
  #dropped = 0;

  constructor(options: RemoteReadsOptions) {
    this.#options = options;
    this.#rowsMax = options.rowsMax ?? 10_000;
  }

  note(principal: McpPrincipal, said: string | null, tool: string): void {
    // What is longer is cut where it is counted, too.
    const client = said?.slice(0, clientMax) ?? null;
    const key = `${callerOf(principal)} ${principal.teamId} ${tool} ${client ?? ''}`;
    const row = this.#rows.get(key);
    if (row !== undefined) row.count += 1;
    else if (this.#rows.size >= this.#rowsMax) this.#dropped += 1;
    else this.#rows.set(key, { principal, client, tool, count: 1 });
    this.#cancel ??= this.#options.clock.after(toldMs, () => {
      void this.#tell();
    });
  }

  /** Tells what is left to tell. */
  async close(): Promise<void> {
    this.#cancel?.();
    await this.#tell();
  }

  /** Never rejects. */
  async #tell(): Promise<void> {
    const { home, log } = this.#options;
    this.#cancel = null;
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    if (this.#dropped > 0) log.warn({ reads: this.#dropped }, 'mcp_reads_not_counted');
    this.#dropped = 0;
    if (rows.length === 0) return;
    try {
      await home.ask('mcp.reads', rows);
    } catch (thrown) {
      log.warn({ err: thrown, rows: rows.length }, 'mcp_reads_not_told');
    }
  }
}

/** Counts here what another thread's `RemoteReads` tells. */
export function answerReads(thread: Handling<ReadCalls>, reads: Pick<ReadCounter, 'note'>): void {
  thread.handle('mcp.reads', (rows) => {
    for (const { principal, client, tool, count } of rows) {
      reads.note(principal, client, tool, count);
    }
  });
}
