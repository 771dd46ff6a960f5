/** Owns how accounts are read, on any thread. People are better-auth's records of the model `user`. */
import type { Reader } from '../../store/reader-and-journal.ts';
import type { AuthRecord, MemberRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';

export interface User {
  id: string;
  email: string;
  name: string;
  isInstanceAdmin: boolean;
  twoFactorEnabled: boolean;
}

/** A team that requires two-factor of somebody who has none. */
export interface AskingTeam {
  name: string;
  /** Null: two-factor is required already, and the person is kept out. */
  graceUntilMs: number | null;
}

/** What is read of accounts on any thread. */
export interface AccountReads {
  user(userId: string): User | undefined;
  /** The teams of a person that require two-factor while the person has none. */
  askingTwoFactor(userId: string): AskingTeam[];
}

export function createAccountReads(reader: Reader): AccountReads {
  return {
    user: (userId) => readUser(reader, userId),
    askingTwoFactor: (userId) => askingTwoFactor(reader, userId),
  };
}

export function readUser(reader: Reader, userId: string): User | undefined {
  const record = reader.get(tables.auth, ['user', userId]);
  return record && userOf(record);
}

function askingTwoFactor(reader: Reader, userId: string): AskingTeam[] {
  if (readUser(reader, userId)?.twoFactorEnabled === true) return [];
  return readMemberships(reader, userId).flatMap(({ teamId }) => {
    const team = reader.get(tables.teams, teamId);
    if (team?.requireTwoFactor !== true) return [];
    return [{ name: team.name, graceUntilMs: team.twoFactorGraceUntilMs ?? null }];
  });
}

/** Whether nobody has set the instance up yet. */
export function needsSetup(reader: Reader): boolean {
  return (reader.get(tables.instance, 'instance')?.setUpAtMs ?? null) === null;
}

/** The teams a person is in; the one joined first comes first. */
export function readMemberships(reader: Reader, userId: string): readonly Readonly<MemberRecord>[] {
  return reader.list(tables.members, 'user', [userId]);
}

export function userOf(record: Readonly<AuthRecord>): User {
  const { email, name, isInstanceAdmin, twoFactorEnabled } = record.fields;
  return {
    id: record.id,
    email: typeof email === 'string' ? email : '',
    name: typeof name === 'string' ? name : '',
    isInstanceAdmin: isInstanceAdmin === true,
    twoFactorEnabled: twoFactorEnabled === true,
  };
}
