/**
 * Holds the hashing of passwords in the process that loads it for as long as there is the file that
 * HASHING_HELD_BY names.
 */
import crypto from 'node:crypto';
import type { BinaryLike, ScryptOptions } from 'node:crypto';
import { existsSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { scrypt } = crypto;
const file = process.env['HASHING_HELD_BY'] ?? '';

function heldScrypt(
  password: BinaryLike,
  salt: BinaryLike,
  length: number,
  options: ScryptOptions,
  done: (error: Error | null, key: Buffer) => void,
): void {
  if (existsSync(file)) setTimeout(heldScrypt, 20, password, salt, length, options, done);
  else scrypt(password, salt, length, options, done);
}

Object.assign(crypto, { scrypt: heldScrypt });
syncBuiltinESMExports();
