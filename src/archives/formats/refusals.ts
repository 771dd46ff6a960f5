/** Owns the messages of refused archives; the codes are those of the one error table. */
import { ServiceError } from '../../lib/errors.ts';

const shownMax = 120;

/** A name from an archive, quoted and cut so that it can stand in a sentence. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > shownMax ? `${name.slice(0, shownMax)}…` : name);
}

export function corrupt(why: string): ServiceError {
  return new ServiceError('ARCHIVE_CORRUPT', `The archive cannot be read: ${why}.`);
}

export function unsafe(name: string, why: string): ServiceError {
  return new ServiceError('ARCHIVE_UNSAFE_ENTRY', `The entry ${quoted(name)} ${why}.`);
}

export function bomb(why: string): ServiceError {
  return new ServiceError('ARCHIVE_BOMB', `The archive is refused: ${why}.`);
}

export function encrypted(): ServiceError {
  return new ServiceError('ARCHIVE_ENCRYPTED', 'The archive is encrypted; send it without.');
}

export function mismatch(expected: string): ServiceError {
  return new ServiceError(
    'ARCHIVE_TYPE_MISMATCH',
    `The file name says ${expected}, but its first bytes do not.`,
  );
}

export function empty(): ServiceError {
  return new ServiceError('ARCHIVE_EMPTY', 'The archive holds no files.');
}
