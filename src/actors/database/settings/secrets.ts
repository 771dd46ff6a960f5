/** Owns how the passwords of a database are made, sealed and opened. */
import { randomBytes } from 'node:crypto';
import type { DatabaseRecord } from '../../../store/records/records.ts';
import type { SecretBox } from '../../workload/deps.ts';

/** A sealed value can be opened only in its own place; a retired password keeps the place of the password. */
type Which = 'password' | 'next' | 'admin';

export interface Passwords {
  password: string;
  adminPassword: string;
}

/** 32 characters that need no encoding in an address. */
export function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

export function sealPassword(
  secrets: SecretBox,
  databaseId: string,
  which: Which,
  password: string,
): Uint8Array {
  return secrets.seal(password, contextOf(databaseId, which));
}

export function openPasswords(
  secrets: SecretBox,
  { id, passwordSealed, adminSealed }: Readonly<DatabaseRecord>,
): Passwords {
  return {
    password: secrets.open(passwordSealed, contextOf(id, 'password')),
    adminPassword: secrets.open(adminSealed, contextOf(id, 'admin')),
  };
}

/** All present and past passwords of its user, the one in force first; and the administrator's. */
export function openAll(
  secrets: SecretBox,
  record: Readonly<DatabaseRecord>,
): { own: string[]; admin: string } {
  const { id, nextPasswordSealed, retiredSealed = [] } = record;
  const { password, adminPassword } = openPasswords(secrets, record);
  const next = nextPasswordSealed === null ? [] : [openNext(secrets, id, nextPasswordSealed)];
  const retired = retiredSealed.map((sealed) => secrets.open(sealed, contextOf(id, 'password')));
  return { own: [password, ...next, ...retired], admin: adminPassword };
}

export function openNext(secrets: SecretBox, id: string, sealed: Uint8Array): string {
  return secrets.open(sealed, contextOf(id, 'next'));
}

function contextOf(databaseId: string, which: Which): string {
  return `database:${databaseId}:${which}`;
}
