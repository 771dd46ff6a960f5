/** Owns how long who asks an actor waits, and what is said when that was too long. */
import { ServiceError } from '../../lib/errors.ts';

export const defaultDeadlineMs = 30_000;

export function deadlineExceeded(): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', 'This took too long; it may still happen.');
}
