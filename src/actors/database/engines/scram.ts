/**
 * Owns the verifier that PostgreSQL keeps for a password (RFC 5803, SCRAM-SHA-256): made here, so that
 * the password itself never reaches the server, its files or its log.
 */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

const iterations = 4096;
const saltBytes = 16;

/** `password` is printable ASCII, which SASLprep leaves as it is. */
export function scramVerifier(password: string, salt: Uint8Array = randomBytes(saltBytes)): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const mac = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(mac('Client Key')).digest('base64');
  const serverKey = mac('Server Key').toString('base64');
  const saltText = Buffer.from(salt).toString('base64');
  return `SCRAM-SHA-256$${String(iterations)}:${saltText}$${storedKey}:${serverKey}`;
}
