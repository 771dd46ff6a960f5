/** Owns how work with git fails: as GIT_FAILED, with a sentence for people. */
import { ServiceError } from '../lib/errors.ts';

export function gitFailed(sentence: string, cause?: unknown): ServiceError {
  return new ServiceError('GIT_FAILED', sentence, { cause });
}

/** Words of strangers: in one line, without what terminals obey, and not long. */
export function plainLine(text: string, maxChars = 200): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.length <= maxChars ? line : `${line.slice(0, maxChars)} …`;
}
