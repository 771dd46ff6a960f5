/** Owns how the source of a deployment becomes a folder: what was uploaded, or is fetched by git. */
import type { AppFiles, SourceArchive } from '../../../places/place.ts';
import { reach } from '../../workload/reach.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import { fetchSource } from './fetch-source.ts';
import type { BuildWork } from './work.ts';

/**
 * Unpacks the source into the release's folder. `isOurs`: it is not the app's, but of this process, which builds an
 * image of it. Rejects with WorkFailed, GIT_FAILED and ARCHIVE_* codes.
 */
export async function unpack(work: BuildWork, files: AppFiles, isOurs: boolean): Promise<void> {
  const archive =
    work.app.git === null
      ? await uploaded(work)
      : {
          path: await fetchSource(work, work.app.git),
          format: 'tar' as const,
          keepsSoleFolder: true,
        };
  await extract(work, archive, files, isOurs);
}

async function uploaded({ core, deployment, say }: BuildWork): Promise<SourceArchive> {
  const { upload } = deployment;
  if (upload === null) throw new WorkFailed('There is no uploaded archive to build.');
  say(`Unpacking ${upload.filename} (${String(upload.sizeBytes)} bytes).`);
  if (!(await core.uploads.has(upload.blob))) {
    throw new WorkFailed('The uploaded archive is gone. Upload it again.');
  }
  const { blob, format } = upload;
  return { path: core.uploads.file(blob), format, keepsSoleFolder: false };
}

async function extract(
  { core, app, deployment, signal }: BuildWork,
  archive: SourceArchive,
  files: AppFiles,
  isOurs: boolean,
): Promise<void> {
  const { options, logger, clock } = core.deps;
  const deadline = AbortSignal.timeout(options.extractTimeoutMs);
  const either = AbortSignal.any([signal, deadline]);
  try {
    const { entries, bytes } = await reach(clock, either, () =>
      files.unpack(deployment.id, archive, { isOurs, signal: either }),
    );
    logger.debug({ app: app.id, entries, bytes }, 'release_unpacked');
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) throw new WorkFailed('Unpacking the archive took too long.');
    throw error;
  }
}
