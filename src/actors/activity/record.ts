/**
 * Owns how a cause becomes an entry of a team's activity: who, on what, for which team. The entry holds the
 * names of that moment, so that it stays readable when the named things are gone.
 *
 * 1. This runs inside the commit of the change: it only reads, and only by key.
 * 2. Messages of one request make one entry. A later message only adds what the first could not know, such
 *    as who signed in.
 */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { ActivityRecord, TokenRecord } from '../../store/records/records.ts';
import { type Change, put } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { Cause, RecordCause } from '../runtime/actor.ts';
import { subjectOf, subjectOfActor, subjectOfChanges } from './subjects.ts';

export interface RecordActivityOptions {
  reader: Reader;
  /** Called with a team after each so many new entries of it. */
  onMany?: (teamId: string | null) => void;
}

const many = 500;
const countedTeamsMax = 10_000;

export function recordActivity({ reader, onMany }: RecordActivityOptions): RecordCause {
  const counts = new Map<string | null, number>();
  const count = (teamId: string | null): void => {
    const recorded = (counts.get(teamId) ?? 0) + 1;
    // A team that is forgotten here is still checked once a day.
    if (counts.size >= countedTeamsMax) counts.clear();
    counts.set(teamId, recorded % many);
    if (recorded === many) onMany?.(teamId);
  };
  return (cause, changes, address) => {
    const known = cause.again ? reader.get(tables.activity, cause.id) : undefined;
    if (known !== undefined) {
      const entry = completed(reader, known, cause, changes);
      return entry === null ? [] : [put(tables.activity, entry)];
    }
    const entry = newEntry(reader, cause, changes, address);
    count(entry.teamId);
    return [put(tables.activity, entry)];
  };
}

function newEntry(
  reader: Reader,
  cause: Cause,
  changes: readonly Change[],
  address: string,
): ActivityRecord {
  const userId = cause.userId ?? personIn(changes);
  const subject =
    (cause.targetId === null ? null : subjectOf(reader, cause.targetId)) ??
    subjectOfChanges(reader, changes) ??
    subjectOfActor(reader, address);
  const actorTeamId = address.startsWith('team:') ? address.slice('team:'.length) : null;
  return {
    id: cause.id,
    teamId: subject?.teamId ?? actorTeamId ?? cause.teamId ?? teamOf(reader, userId, changes),
    atMs: cause.atMs,
    actor: actorText(reader, userId, cause.tokenId, changes),
    action: cause.action,
    target: subject?.text ?? cause.targetId,
    details: detailsOf(cause, userId, subject?.id ?? cause.targetId),
  };
}

/** The entry with what the first message could not know; null when there is nothing to add. */
function completed(
  reader: Reader,
  known: Readonly<ActivityRecord>,
  cause: Cause,
  changes: readonly Change[],
): ActivityRecord | null {
  const userId = cause.userId ?? personIn(changes);
  const named = known.details['userId'] !== null || userId === null;
  const subject = known.target === null ? subjectOfChanges(reader, changes) : null;
  if (named && !subject) return null;
  return {
    ...known,
    teamId: known.teamId ?? subject?.teamId ?? teamOf(reader, userId, changes),
    actor: named ? known.actor : actorText(reader, userId, cause.tokenId, changes),
    target: known.target ?? subject?.text ?? null,
    details: {
      ...known.details,
      userId: known.details['userId'] ?? userId,
      targetId: known.details['targetId'] ?? subject?.id ?? null,
    },
  };
}

function detailsOf(
  cause: Cause,
  userId: string | null,
  targetId: string | null,
): Record<string, unknown> {
  const { tokenId, address, userAgent, via, agent, input } = cause;
  return {
    userId,
    ...(tokenId !== null && { tokenId }),
    targetId,
    address,
    userAgent,
    ...(via === 'mcp' && { via }),
    ...(agent && { client: agent.client, tool: agent.tool }),
    ...(Object.keys(input).length > 0 && { input }),
  };
}

/** A person, a person's token or OAuth client, or `nobody`. */
export function actorText(
  reader: Reader,
  userId: string | null,
  tokenId: string | null,
  changes: readonly Change[] = [],
): string {
  if (userId === null) return 'nobody';
  const { name, email } = userFields(reader, userId, changes);
  if (tokenId === null) return `person:${name} ${email}`;
  const token: Readonly<TokenRecord> | undefined = reader.get(tables.tokens, tokenId);
  if (token === undefined) return `token:${tokenId} of ${email}`;
  if (token.oauth) return `client:${token.oauth.name} of ${email}`;
  return `token:${token.name} ${token.prefix} of ${email}`;
}

function userFields(
  reader: Reader,
  userId: string,
  changes: readonly Change[],
): { name: string; email: string } {
  const made = valuesOf(changes, tables.auth.name).find((value) => value['id'] === userId);
  const fields = (made?.['fields'] ?? reader.get(tables.auth, ['user', userId])?.fields ?? {}) as {
    name?: unknown;
    email?: unknown;
  };
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return { name: text(fields.name), email: text(fields.email) };
}

/** The person of a change of account records: the one who signs in, or was just made. */
function personIn(changes: readonly Change[]): string | null {
  for (const value of valuesOf(changes, tables.auth.name)) {
    if (value['model'] === 'user' && typeof value['id'] === 'string') return value['id'];
    const fields = value['fields'] as Record<string, unknown> | undefined;
    if (typeof fields?.['userId'] === 'string') return fields['userId'];
  }
  for (const value of valuesOf(changes, tables.twoFactor.name)) {
    if (typeof value['userId'] === 'string') return value['userId'];
  }
  return null;
}

/** A change of an account is shown to the team that its session acts in, else to its first team. */
function teamOf(reader: Reader, userId: string | null, changes: readonly Change[]): string | null {
  for (const value of valuesOf(changes, tables.auth.name)) {
    const fields = value['fields'] as Record<string, unknown> | undefined;
    const current = fields?.['currentTeamId'];
    if (value['model'] === 'session' && typeof current === 'string' && current !== '') {
      return current;
    }
  }
  if (userId === null) return null;
  return reader.list(tables.members, 'user', [userId], { limit: 1 })[0]?.teamId ?? null;
}

function valuesOf(changes: readonly Change[], table: string): Record<string, unknown>[] {
  return changes.flatMap((change) =>
    change.table === table && (change.op === 'put' || change.op === 'insert')
      ? [change.value as Record<string, unknown>]
      : [],
  );
}
