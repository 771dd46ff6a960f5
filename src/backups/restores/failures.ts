/** Owns what a failed restore is told by: what went wrong, and in which state that left the target. */
import { ServiceError } from '../../lib/errors.ts';
import { asFailure } from '../../workers/task-failure.ts';

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

/** What the restorer left is not known, or cannot be undone now: `Recover` has to. */
export class Unsettled extends Error {
  override readonly name = 'Unsettled';
  override readonly cause: unknown;

  constructor(cause: unknown) {
    super('Cannot tell what a restore left: its server is gone');
    this.cause = cause;
  }
}

export function unfit(sentence: string): ServiceError {
  return new ServiceError('ARTIFACT_UNFIT', sentence);
}

function told(error: unknown, state: string): ServiceError {
  const { code, message } = refusalOf(error);
  // What is dumped on the way is a part of the restore.
  const own = code === 'DUMP_FAILED' ? 'RESTORE_FAILED' : code;
  return new ServiceError(own, `${message} ${state}`, { cause: error });
}

function refusalOf(error: unknown): Pick<ServiceError, 'code' | 'message'> {
  const failure = asFailure(error);
  if (failure.kind === 'refused') return ServiceError.fromPlain(failure.error);
  return { code: 'RESTORE_FAILED', message: 'The restore was ended.' };
}
