/** Owns what a failed restore is told by: what went wrong, and in which state that left the target. */
import { ServiceError } from '../../lib/errors.ts';

/** The live data was not touched. */
export function untouched(error: unknown): ServiceError {
  return told(error, 'The data is as it was.');
}

/** The live data was replaced, and is back. */
export function putBack(error: unknown): ServiceError {
  return told(error, 'The previous data is back.');
}

/** The live data was replaced, and is not back; `where` ends the sentence. */
export function notPutBack(error: unknown, where: string): ServiceError {
  return told(error, `The previous data could not be put back: ${where}.`);
}

export function unfit(sentence: string): ServiceError {
  return new ServiceError('ARTIFACT_UNFIT', sentence);
}

function told(error: unknown, state: string): ServiceError {
  const isOurs = error instanceof ServiceError;
  const sentence = isOurs ? error.message : 'The restore was ended.';
  return new ServiceError(isOurs ? error.code : 'RESTORE_FAILED', `${sentence} ${state}`, {
    cause: error,
  });
}
