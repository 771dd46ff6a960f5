/** Owns how the source of a deployment becomes a folder: what was uploaded, or is fetched by git. */
import type { StoredUpload } from '../../../store/records/records.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { fetchSource } from './fetch-source.ts';
import type { BuildWork } from './work.ts';

/**
 * Unpacks the source into the release's folder, which belongs to this process until it is handed over.
 * `uid` owns the content; null: this process does. Rejects with WorkFailed, GIT_FAILED and ARCHIVE_* codes.
 */
export async function unpack(work: BuildWork, uid: number | null): Promise<string> {
  const { core, app, deployment } = work;
  const folder = await core.folders.prepareRelease(deployment.id);
  if (app.git !== null) {
    const archive = await fetchSource(work, app.git);
    await extract(work, { archive, format: 'tar', keepsSoleFolder: true }, folder, uid);
    return folder;
  }
  await extract(work, await uploaded(work), folder, uid);
  return folder;
}

interface Archive {
  archive: string;
  format: StoredUpload['format'];
  keepsSoleFolder: boolean;
}

async function uploaded({ core, deployment, say }: BuildWork): Promise<Archive> {
  const { upload } = deployment;
  if (upload === null) throw new WorkFailed('There is no uploaded archive to build.');
  say(`Unpacking ${upload.filename} (${String(upload.sizeBytes)} bytes).`);
  if (!(await core.folders.hasUpload(upload.blob))) {
    throw new WorkFailed('The uploaded archive is gone. Upload it again.');
  }
  const { blob, format } = upload;
  return { archive: core.folders.upload(blob), format, keepsSoleFolder: false };
}

async function extract(
  { core, app, signal }: BuildWork,
  { archive, format, keepsSoleFolder }: Archive,
  folder: string,
  uid: number | null,
): Promise<void> {
  const { extractor, options, logger } = core.deps;
  const deadline = AbortSignal.timeout(options.extractTimeoutMs);
  try {
    const { entries, bytes } = await extractor.extract(archive, format, folder, {
      uid,
      keepsSoleFolder,
      signal: AbortSignal.any([signal, deadline]),
    });
    logger.debug({ app: app.id, entries, bytes }, 'release_unpacked');
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) throw new WorkFailed('Unpacking the archive took too long.');
    throw error;
  }
}
