/** Owns the kinds of archives, and the kind that a file name stands for. */
import { ServiceError } from '../../lib/errors.ts';

export type ArchiveFormat = 'tar' | 'tar.gz' | 'zip';
/** `bytes`: any file, of which only length and hash are taken. */
export type ReceivedFormat = ArchiveFormat | 'bytes';

const extensions: readonly (readonly [string, ArchiveFormat])[] = [
  ['.tar.gz', 'tar.gz'],
  ['.tgz', 'tar.gz'],
  ['.tar', 'tar'],
  ['.zip', 'zip'],
];

/** The format by the extension, upper or lower case. Throws UNSUPPORTED_ARCHIVE. */
export function formatOf(filename: string): ArchiveFormat {
  const lower = filename.toLowerCase();
  const found = extensions.find(([extension]) => lower.endsWith(extension));
  if (found === undefined) {
    throw new ServiceError(
      'UNSUPPORTED_ARCHIVE',
      'The file name has to end in .tar.gz, .tgz, .tar or .zip.',
    );
  }
  return found[1];
}

const filenameBytesMax = 255;

/**
 * The file name in an `X-Upload-Filename` header: percent-encoded UTF-8 (as in RFC 8187, but without the
 * charset) or plain ASCII. Only the part after the last `/` or `\` counts. Throws FILENAME_REQUIRED when
 * nothing usable is left.
 */
export function uploadFilename(header: string): string {
  return usableFilename(decodePercent(header).split(/[/\\]/).at(-1)?.trim() ?? '');
}

/** The name itself, when an archive may have it. Throws FILENAME_REQUIRED. */
export function usableFilename(name: string): string {
  if (name === '' || name === '.' || name === '..') {
    throw unusable('The header X-Upload-Filename has to name the archive.');
  }
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) {
    throw unusable('The file name has control characters in it.');
  }
  if (Buffer.byteLength(name) > filenameBytesMax) {
    throw unusable(`The file name is longer than ${filenameBytesMax} bytes.`);
  }
  return name;
}

function decodePercent(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign of its own, as in "100%.zip": the name was not encoded.
    return text;
  }
}

function unusable(detail: string): ServiceError {
  return new ServiceError('FILENAME_REQUIRED', detail);
}
