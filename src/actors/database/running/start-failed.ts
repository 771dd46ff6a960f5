/** Owns why a database did not start, as a sentence for people. */
import { ServiceError } from '../../../lib/errors.ts';
import { isAborted } from '../../app/running/health.ts';

/** The message is for people. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed';
}

const fullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** Null when it was only ended. */
export function reasonOf(thrown: unknown, signal: AbortSignal): string | null {
  return isAborted(signal) ? null : sentenceOf(thrown);
}

export function sentenceOf(thrown: unknown): string {
  if (thrown instanceof StartFailed) return thrown.message;
  if (thrown instanceof ServiceError && thrown.code !== 'INTERNAL') return thrown.message;
  const { code } = thrown as { code?: unknown };
  if (fullCodes.has(code)) return 'The disk of this server is full.';
  return 'Something went wrong on our side.';
}
