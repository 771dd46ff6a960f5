/** Owns whether a file that somebody gives is an archive that can be sent: by its name, its size and its first bytes. */
import { archiveBytesMax, PackingError } from './plan.ts';
import { isTarHeader } from './tar.ts';

const kinds = [
  { extension: '.tar.gz', looksRight: isGzip },
  { extension: '.tgz', looksRight: isGzip },
  { extension: '.tar', looksRight: isTarHeader },
  { extension: '.zip', looksRight: isZip },
] as const;
/** Archives that nobody means as a file of an app. */
const others = /\.(7z|rar|bz2|xz|zst|lz|lzma|gz|dmg|iso|jar|cab|deb|rpm)$/i;

export const archiveExtensions = kinds.map(({ extension }) => extension).join(',');

/** An archive can be sent as it is; a file is to be packed. Throws PackingError. */
export async function archiveKind(file: File): Promise<'archive' | 'file'> {
  const name = file.name.toLowerCase();
  const kind = kinds.find(({ extension }) => name.endsWith(extension));
  if (kind === undefined) {
    if (!others.test(name)) return 'file';
    throw new PackingError(
      `${file.name} is no archive that can be built: send a .zip, .tar, .tar.gz or .tgz, or the folder itself.`,
    );
  }
  if (file.size > archiveBytesMax) {
    const size = Math.ceil(file.size / 1024 / 1024);
    throw new PackingError(
      `${file.name} has ${String(size)} MiB; an archive may have ${String(archiveBytesMax / 1024 / 1024)} MiB at most.`,
    );
  }
  const start = new Uint8Array(await file.slice(0, 512).arrayBuffer());
  if (!kind.looksRight(start)) {
    throw new PackingError(
      `${file.name} is called ${kind.extension}, but what is in it is no such archive.`,
    );
  }
  return 'archive';
}

function isGzip(start: Uint8Array): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

function isZip(start: Uint8Array): boolean {
  return start[0] === 0x50 && start[1] === 0x4b && (start[2] === 3 || start[2] === 5);
}
