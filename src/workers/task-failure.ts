/** Owns which part of an error leaves a thread, and which errors of the disk are expected. */
import { type PlainServiceError, ServiceError } from '../lib/errors.ts';

/** A refusal to report as it is, or a fault of ours to log. */
export type Failure =
  { kind: 'refused'; error: PlainServiceError } | { kind: 'fault'; message: string };

const fullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

export function asFailure(error: unknown): Failure {
  if (error instanceof ServiceError) return { kind: 'refused', error: error.toPlain() };
  if (error instanceof Error && 'code' in error && fullCodes.has(String(error.code))) {
    const full = new ServiceError('STORAGE_FULL', 'There is no room left to store this.');
    return { kind: 'refused', error: full.toPlain() };
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { kind: 'fault', message };
}

export function fromFailure(failure: Failure): Error {
  switch (failure.kind) {
    case 'refused':
      return ServiceError.fromPlain(failure.error);
    case 'fault':
      return new Error(`a bulk task failed: ${failure.message}`);
  }
}
