/**
 * Makes the hashing of passwords cheap in the process that loads it: at the cost that keeps guessers
 * out, it was a tenth of what all tests take.
 *
 * 1. What is asked for is still checked: a hash below that cost is refused.
 * 2. Hashes of a process with it and of one without it do not match.
 */
import crypto from 'node:crypto';
import type { BinaryLike, ScryptOptions } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

type Done = (error: Error | null, key: Buffer) => void;

const { scrypt } = crypto;

function cheapScrypt(
  password: BinaryLike,
  salt: BinaryLike,
  length: number,
  options: ScryptOptions,
  done: Done,
): void {
  // OWASP's least for scrypt, by the memory that one guess takes.
  const bytes = 128 * (options.N ?? 0) * (options.r ?? 0);
  if (bytes < 32 * 2 ** 20) throw new Error(`A password is hashed too cheaply: ${String(bytes)} B`);
  scrypt(password, salt, length, { N: 1024, r: 1, p: 1 }, done);
}

Object.assign(crypto, { scrypt: cheapScrypt });
syncBuiltinESMExports();
