/** Owns the hash of MariaDB's own way to sign in, which servers keep in place of passwords. */
import { createHash } from 'node:crypto';

/** What the server compares with. Nobody can sign in with the hash itself. */
export function nativeHash(password: string): string {
  const once = createHash('sha1').update(password).digest();
  return `*${createHash('sha1').update(once).digest('hex').toUpperCase()}`;
}
