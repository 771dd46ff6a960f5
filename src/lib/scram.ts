/** Owns the verifiers of SCRAM, which servers keep in place of passwords. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

const scramIterations = 4096;

/**
 * The verifier that PostgreSQL keeps for a password (RFC 5803, SCRAM-SHA-256). It is made here, so that the
 * password itself never reaches the server, its files or its log. It is printable ASCII, which SASLprep
 * does not change.
 */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, scramIterations, 32, 'sha256');
  const mac = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(mac('Client Key')).digest('base64');
  const serverKey = mac('Server Key').toString('base64');
  const saltText = Buffer.from(salt).toString('base64');
  return `SCRAM-SHA-256$${String(scramIterations)}:${saltText}$${storedKey}:${serverKey}`;
}
