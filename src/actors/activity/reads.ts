/**
 * Owns how reads over MCP stand in a team's activity: counted, in one entry for each day, token (or OAuth
 * grant), client and team. There are too many reads for an entry each. An entry can be turned back into its
 * counts, so that counting continues from it.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { ActivityRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { actorText } from './record.ts';

/** Plain data. */
export interface ReadsOfDay {
  /** The id of the entry. */
  readonly id: string;
  /** In UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly teamId: string;
  readonly userId: string;
  /** Null: the person's own session. */
  readonly tokenId: string | null;
  /** The client's own name, safe to show; null when it gave none. */
  readonly client: string | null;
  /** By the name of the tool. */
  readonly calls: Readonly<Record<string, number>>;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The entry. The reader's name stays as in the first version of the entry. */
export function readsEntry(reader: Reader, reads: ReadsOfDay): ActivityRecord {
  const { id, day, teamId, userId, tokenId, client, calls, firstMs, lastMs } = reads;
  return {
    id,
    teamId,
    atMs: firstMs,
    actor: reader.get(tables.activity, id)?.actor ?? actorText(reader, userId, tokenId),
    action: 'mcp_reads',
    target: null,
    details: {
      userId,
      ...(tokenId !== null && { tokenId }),
      via: 'mcp',
      client,
      day,
      calls: { ...calls },
      first: new Date(firstMs).toISOString(),
      last: new Date(lastMs).toISOString(),
    },
  };
}

/** The counts of a token, or of a person's own sessions, on a day; all teams and clients. */
export function readsOfDay(reader: Reader, day: string, reads: string): ReadsOfDay[] {
  return reader.list(tables.activity, 'reads', [day, reads]).map(readsOf);
}

function readsOf({ id, teamId, atMs, details }: Readonly<ActivityRecord>): ReadsOfDay {
  const { day, userId, tokenId, client, calls, last } = details;
  return {
    id,
    day: String(day),
    teamId: teamId ?? '',
    userId: String(userId),
    tokenId: typeof tokenId === 'string' ? tokenId : null,
    client: typeof client === 'string' ? client : null,
    calls: { ...(calls as Record<string, number>) },
    firstMs: atMs,
    lastMs: Date.parse(String(last)),
  };
}
