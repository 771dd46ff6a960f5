/** Owns what a failed transaction means to its callers and to the store. */
import { asServiceError, ServiceError } from '../../lib/errors.ts';

const full = /ENOSPC|EDQUOT|No space left|Disk quota|MAP_FULL/i;
// A full disk first shows as a short write, which LMDB reports as an input/output error.
const shortWrite = /EIO|Input\/output error/i;
/** Codes after which LMDB itself refuses to be written again. */
const givenUp = /MDB_(PANIC|CORRUPTED|PAGE_NOTFOUND)\b/;
const nearlyFullBytes = 16 * 2 ** 20;

/** Whether the store must not be written again. */
export function isGivenUp(cause: unknown): boolean {
  return givenUp.test(String(cause));
}

export function failureOf(cause: unknown, freeBytes: () => number): ServiceError {
  const text = String(cause);
  if (full.test(text) || (shortWrite.test(text) && freeBytes() < nearlyFullBytes)) {
    return new ServiceError('STORAGE_FULL', 'There is no space left to store this.', { cause });
  }
  return asServiceError(cause);
}
