/** Owns what somebody has chosen to send: a folder with what will be packed of it, or an archive as it is. */
import { archiveKind } from '../../packing/archive-file.ts';
import type { Given } from '../../packing/folder.ts';
import { type Plan, PackingError, planOf } from '../../packing/plan.ts';
import type { ArchiveToSend } from './deploy.ts';

export type Chosen =
  { kind: 'archive'; name: string; file: File } | { kind: 'folder'; name: string; plan: Plan };

/** Looks through it. Throws PackingError with a sentence for people. */
export async function chosenOf(
  given: Given,
  options: { onFound: (files: number) => void; signal: AbortSignal },
): Promise<Chosen> {
  if (given.kind === 'file') {
    const { file } = given;
    if ((await archiveKind(file)) === 'archive') {
      return { kind: 'archive', name: file.name.replace(/\.(tar\.gz|tgz|tar|zip)$/i, ''), file };
    }
    const plan = { name: '', files: [{ path: file.name, file }], bytes: file.size };
    return { kind: 'folder', name: '', plan: { ...plan, leftOut: { count: 0, first: [] } } };
  }
  const plan = await planOf(given.folder, options);
  if (plan.files.length === 0) {
    const why = plan.leftOut.count > 0 ? ' but what is left out' : '';
    throw new PackingError(`There is nothing in it${why}.`);
  }
  return { kind: 'folder', name: plan.name, plan };
}

export function archiveOf(chosen: Chosen): ArchiveToSend {
  if (chosen.kind === 'archive') {
    const { file } = chosen;
    return { filename: file.name, make: () => Promise.resolve(file) };
  }
  const { plan, name } = chosen;
  return {
    filename: `${filenameOf(name)}.tar.gz`,
    make: async ({ onProgress, signal }) => {
      const { pack } = await import('../../packing/pack.ts');
      return await pack(plan, { signal, onProgress: (bytes) => onProgress(bytes, plan.bytes) });
    },
  };
}

function filenameOf(name: string): string {
  const usable = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 60);
  return usable === '' ? 'app' : usable;
}

const units = ['B', 'kB', 'MB', 'GB'];

/** Such as "1.2 MB". */
export function sizeInWords(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1000 && unit < units.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  return `${amount.toFixed(amount < 10 && unit > 0 ? 1 : 0)} ${units[unit] ?? ''}`;
}
