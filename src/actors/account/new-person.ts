/** Owns the records of a new person: better-auth's records of the user and of its password. */
import { newId } from '../../lib/ids.ts';
import type { AuthRecord } from '../../store/records/records.ts';
import { type Change, insert } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';

export interface NewPerson {
  userId: string;
  /** In lower case. */
  email: string;
  name: string;
  passwordHash: string;
}

/** The changes belong in one commit, which is refused with CONFLICT when the address is taken. */
export function newPersonChanges(
  { userId, email, name, passwordHash }: NewPerson,
  { isInstanceAdmin, atMs }: { isInstanceAdmin: boolean; atMs: number },
): Change[] {
  const stamps = { createdAt: atMs, updatedAt: atMs };
  const user: AuthRecord = {
    model: 'user',
    id: userId,
    fields: {
      email,
      name,
      emailVerified: false,
      image: null,
      isInstanceAdmin,
      twoFactorEnabled: false,
      ...stamps,
    },
    dates: Object.keys(stamps),
  };
  return [
    insert(tables.auth, user),
    insert(tables.auth, newCredential(userId, passwordHash, atMs)),
  ];
}

export function newCredential(userId: string, password: string, atMs: number): AuthRecord {
  const stamps = { createdAt: atMs, updatedAt: atMs };
  return {
    model: 'account',
    id: newId('usr', atMs),
    fields: { accountId: userId, providerId: 'credential', userId, password, ...stamps },
    dates: Object.keys(stamps),
  };
}
