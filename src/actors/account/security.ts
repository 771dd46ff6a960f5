/**
 * Owns the decisions about a person's password, second factor and sessions. The one actor of all accounts
 * makes each of them. So of two requests with the same code one wins, and a used code stays used after a
 * restart.
 */
import { ServiceError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AuthRecord, TwoFactorRecord } from '../../store/records/records.ts';
import { type Change, insert, put, remove } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import { newCredential } from './new-person.ts';
import type { AccountHandlers, TwoFactorProof } from './protocol.ts';

/** How long a started enrolment waits for its code. */
const enrolmentMs = 15 * 60 * 1_000;

export interface SecurityOptions {
  reader: Reader;
  clock: Clock;
  commit: (changes: Change[]) => Promise<void>;
}

export function securityHandlers({ reader, clock, commit }: SecurityOptions) {
  return {
    'password-set': async (message) => {
      const { userId, passwordHash, seenHash, keepSessionId, endTwoFactor } = message;
      const account = credentialOf(reader, userId);
      if (seenHash !== null && account?.fields['password'] !== seenHash) return false;
      await commit([
        passwordChange(account, userId, passwordHash, clock.now()),
        ...reader
          .list(tables.auth, 'field', ['session', 'userId', userId])
          .filter((session) => session.id !== keepSessionId)
          .flatMap((session) => sessionEnd(session.id)),
        ...(endTwoFactor ? twoFactorEnd(reader, userId) : []),
      ]);
      return true;
    },
    'two-factor-start': async ({ userId, enrolment, sealed, recoveryHashes }) => {
      if (reader.get(tables.twoFactor, userId)?.confirmedAtMs != null) {
        throw new ServiceError('CONFLICT', 'Two-factor is on; turn it off first.');
      }
      const fresh = { userId, enrolment, sealed, recoveryHashes, lastStep: 0, confirmedAtMs: null };
      await commit([put(tables.twoFactor, { ...fresh, createdAtMs: clock.now() })]);
      return true;
    },
    'two-factor-confirm': async ({ userId, enrolment, step }) => {
      const record = reader.get(tables.twoFactor, userId);
      if (record?.enrolment !== enrolment || !isOpen(record, clock.now())) return false;
      await commit([
        put(tables.twoFactor, { ...record, lastStep: step, confirmedAtMs: clock.now() }),
        ...flagChange(reader, userId, true),
      ]);
      return true;
    },
    'two-factor-use': async ({ userId, proof, end }) => {
      const record = reader.get(tables.twoFactor, userId);
      const used = record && usedUp(record, proof);
      if (!used) return false;
      await commit(end ? twoFactorEnd(reader, userId) : [put(tables.twoFactor, used)]);
      return true;
    },
    'sessions-seen': async ({ uses }) => {
      const seen = uses.flatMap(({ sessionId, atMs }) => {
        const userId = reader.get(tables.auth, ['session', sessionId])?.fields['userId'];
        if (typeof userId !== 'string') return [];
        return [put(tables.sightings, { sessionId, userId, lastSeenAtMs: atMs })];
      });
      if (seen.length > 0) await commit(seen);
      return true;
    },
  } satisfies AccountHandlers;
}

export function isOpen(record: Readonly<TwoFactorRecord>, now: number): boolean {
  return record.confirmedAtMs === null && now - record.createdAtMs < enrolmentMs;
}

/** The changes that end a session and remove the note of its last use. */
export function sessionEnd(sessionId: string): Change[] {
  return [remove(tables.auth, ['session', sessionId]), remove(tables.sightings, sessionId)];
}

/** Removes notes of last use whose sessions ended without removing them. */
export function staleSightings(reader: Reader, userId: string): Change[] {
  return reader
    .list(tables.sightings, 'user', [userId])
    .filter(({ sessionId }) => !reader.get(tables.auth, ['session', sessionId]))
    .map(({ sessionId }) => remove(tables.sightings, sessionId));
}

export function credentialOf(reader: Reader, userId: string): Readonly<AuthRecord> | undefined {
  return reader
    .list(tables.auth, 'field', ['account', 'userId', userId])
    .find((account) => account.fields['providerId'] === 'credential');
}

/** The record with the proof used; null when the proof is wrong or was used before. */
function usedUp(record: Readonly<TwoFactorRecord>, proof: TwoFactorProof): TwoFactorRecord | null {
  if (record.confirmedAtMs === null) return null;
  if (proof.kind === 'step') {
    const isNew = record.enrolment === proof.enrolment && proof.step > record.lastStep;
    return isNew ? { ...record, lastStep: proof.step } : null;
  }
  if (!record.recoveryHashes.includes(proof.hash)) return null;
  const recoveryHashes = record.recoveryHashes.filter((hash) => hash !== proof.hash);
  return { ...record, recoveryHashes };
}

function twoFactorEnd(reader: Reader, userId: string): Change[] {
  return [remove(tables.twoFactor, userId), ...flagChange(reader, userId, false)];
}

function flagChange(reader: Reader, userId: string, twoFactorEnabled: boolean): Change[] {
  const user = reader.get(tables.auth, ['user', userId]);
  if (!user) return [];
  return [put(tables.auth, { ...user, fields: { ...user.fields, twoFactorEnabled } })];
}

function passwordChange(
  account: Readonly<AuthRecord> | undefined,
  userId: string,
  password: string,
  atMs: number,
): Change {
  if (!account) return insert(tables.auth, newCredential(userId, password, atMs));
  const fields = { ...account.fields, password, updatedAt: atMs };
  const dates = [...new Set([...account.dates, 'updatedAt'])];
  return put(tables.auth, { ...account, fields, dates });
}
