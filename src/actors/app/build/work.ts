/** Owns what the ways of building a release share: the work and the unpacked source. */
import type { AppRecord, DeploymentRecord, ReleasePlan } from '../../../store/records/records.ts';
import { WorkFailed } from '../../workload/work-failed.ts';
import type { AppCore } from '../core.ts';

export interface BuildWork {
  core: AppCore;
  app: AppRecord;
  deployment: DeploymentRecord;
  signal: AbortSignal;
  /** Writes to the deployment's log. */
  say: (line: string) => void;
  /** Journals the plan before the build job starts. */
  planned: (plan: ReleasePlan, buildJob: string | null) => Promise<void>;
}

/**
 * Unpacks the upload into the release's folder, which belongs to this process until it is handed over.
 * `uid` owns the content; null: this process does. Rejects with WorkFailed and ARCHIVE_* codes.
 */
export async function unpack(
  { core, app, deployment, signal, say }: BuildWork,
  uid: number | null,
): Promise<string> {
  const { extractor, options, logger } = core.deps;
  const { upload } = deployment;
  if (upload === null) throw new WorkFailed('There is no uploaded archive to build.');
  say(`Unpacking ${upload.filename} (${String(upload.sizeBytes)} bytes).`);
  const folder = await core.folders.prepareRelease(deployment.id);
  const archive = core.folders.upload(upload.blob);
  if (!(await core.folders.hasUpload(upload.blob))) {
    throw new WorkFailed('The uploaded archive is gone. Upload it again.');
  }
  const deadline = AbortSignal.timeout(options.extractTimeoutMs);
  try {
    const { entries, bytes } = await extractor.extract(archive, upload.format, folder, {
      uid,
      signal: AbortSignal.any([signal, deadline]),
    });
    logger.debug({ app: app.id, entries, bytes }, 'release_unpacked');
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) throw new WorkFailed('Unpacking the archive took too long.');
    throw error;
  }
  return folder;
}

export function tookTooLong(timeoutMs: number): string {
  return `The build took longer than ${String(Math.round(timeoutMs / 60_000))} minutes.`;
}
