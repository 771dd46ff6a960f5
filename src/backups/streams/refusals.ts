/** Owns the refusals of artifacts that cannot be read. */
import { ServiceError } from '../../lib/errors.ts';

/** `what` says what is wrong with the artifact: "its gzip data is cut off". */
export function corrupt(what: string, cause?: unknown): ServiceError {
  return new ServiceError('ARTIFACT_CORRUPT', `The artifact cannot be read: ${what}.`, { cause });
}

export function wrongKey(why: string): ServiceError {
  return new ServiceError('RECOVERY_KEY_WRONG', why);
}
