/**
 * Owns how reads over MCP stand in a team's activity: counted, in one entry for each day, token (or
 * OAuth grant), client and team. Reads are too many to have an entry each. An entry becomes what it
 * was made of again, so that counting goes on where it was.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { ActivityRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { actorText } from './record.ts';

/** Plain data. */
export interface ReadsOfDay {
  /** Of the entry. */
  readonly id: string;
  /** In UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly teamId: string;
  readonly userId: string;
  /** Null: the person's own session. */
  readonly tokenId: string | null;
  /** What it calls itself, fit to be shown; null where it did not say. */
  readonly client: string | null;
  /** By the name of the tool. */
  readonly calls: Readonly<Record<string, number>>;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The entry; who read is named as when it was first written. */
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

/** What was counted for a token, or for a person's own sessions, on a day; all teams and clients. */
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
