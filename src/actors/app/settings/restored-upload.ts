/**
 * Owns the upload that comes with a restored artifact: what the app is built from next. Whoever made the
 * artifact may have put anything there, so it is taken as an upload of whoever restores.
 *
 * 1. Only an app of the source UPLOAD takes it, from those who may upload to it.
 * 2. The app points at it when its data is restored, and its file is on disk. What comes to nothing is removed
 *    as what is left of any upload.
 * 3. It is checked like every archive when it is unpacked for a deployment.
 */
import { createHash, randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { formatOf, usableFilename } from '../../../archives/formats/format.ts';
import type { CameUpload } from '../../../backups/restores/app-entries.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { StoredUpload } from '../../../store/records/records.ts';
import type { RestoreRights } from '../../restore/protocol.ts';
import type { KeptUpload } from '../../restore/restore-work.ts';
import type { AppCore } from '../core.ts';

/** Resolves with null where it is left out, which `say` is told. */
export async function keepRestoredUpload(
  core: AppCore,
  { filename: given, content }: CameUpload,
  rights: RestoreRights,
  say: (line: string) => void,
): Promise<KeptUpload | null> {
  try {
    if (!rights.upload) throw new ServiceError('FORBIDDEN', 'That needs deploy_apps.');
    const filename = usableFilename(given);
    const format = formatOf(filename);
    const { source } = core.require();
    if (source !== 'UPLOAD') {
      throw new ServiceError('NOT_AN_UPLOAD_APP', `The source of this app is ${source}.`);
    }
    const blob = `${randomUUID()}.${format}`;
    const arriving = `${blob}.new`;
    const dir = await core.uploads.ensure();
    const received = await receive(join(dir, arriving), content);
    if (received.sha256 === core.require().upload?.sha256) {
      await core.uploads.remove(arriving);
      return null;
    }
    const uploadedAtMs = core.deps.clock.now();
    const upload: StoredUpload = { filename, ...received, format, uploadedAtMs, blob };
    return { apply: () => apply(core, arriving, upload) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    say(`The upload stays as it is: ${error.message}`);
    return null;
  }
}

async function receive(
  path: string,
  content: AsyncIterable<Uint8Array>,
): Promise<{ sizeBytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const bytes of content) {
      hash.update(bytes);
      sizeBytes += bytes.length;
      await file.writeFile(bytes);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

async function apply(core: AppCore, arriving: string, upload: StoredUpload): Promise<void> {
  await core.uploads.place(arriving, upload.blob);
  await core.context.report(() => {
    const { upload: before } = core.require();
    core.save({ upload });
    const isBuilt = core.open.some((one) => one.upload?.blob === before?.blob);
    if (before !== null && !isBuilt) core.context.afterCommit(() => core.removeUpload(before.blob));
  });
}
