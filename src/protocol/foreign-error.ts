/** Owns errors as another machine tells them: of what it says only what can do no harm is taken. */
import { type ErrorCode, errorTable, ServiceError } from '../lib/errors.ts';

const detailMax = 2000;
const retryMaxS = 3600;

/** Whatever it is; an unknown code, as of a newer release, is INTERNAL. It carries no headers and no extensions. */
export function foreignError(told: unknown): ServiceError {
  const { code, detail, retryAfterS } = isRecord(told) ? told : {};
  if (!isCode(code) || typeof detail !== 'string') {
    return new ServiceError('INTERNAL', 'Something went wrong on the other server.');
  }
  const isPause = typeof retryAfterS === 'number' && retryAfterS >= 0 && retryAfterS <= retryMaxS;
  const options = isPause ? { retryAfterS: Math.ceil(retryAfterS) } : {};
  return new ServiceError(code, detail.slice(0, detailMax), options);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorTable, code);
}
