/**
 * Owns the reservation of an app for one upload, and which uploaded archives are kept.
 *
 * 1. While an archive arrives no deployment begins, and while a deployment is under way no upload begins. A
 *    deployment that waits for a build slot does not hinder an upload: it will build the newest source.
 * 2. A reservation lives in memory: it ends with the process, and with this activation.
 * 3. An archive arrives under a name of its own. Its commit renames it to the name that the app points at.
 *    A file under any other name is removed when the upload ends, or when the next one begins.
 */
import { ServiceError } from '../../../lib/errors.ts';
import { checkNotHeld } from '../../restore/held.ts';
import type { AppCore } from '../core.ts';
import type { DeploymentQueue } from './deployments.ts';
import type { Handlers } from '../protocol.ts';

export function uploadHandlers(core: AppCore, queue: DeploymentQueue) {
  return {
    'upload-begin': async ({ uploadId }) => {
      checkFree(core);
      core.reserve(uploadId);
      try {
        const dir = await core.uploads.ensure();
        await core.uploads.keep(neededBlobs(core));
        return { dir, name: arrivingName(uploadId) };
      } catch (error) {
        core.releaseUpload();
        throw error;
      }
    },
    'upload-commit': async ({ uploadId, upload }) => {
      const { upload: before } = core.require();
      if (core.uploadId !== uploadId) {
        throw new ServiceError('CONFLICT', 'The upload was interrupted. Send the archive again.');
      }
      await core.uploads.place(arrivingName(uploadId), upload.blob);
      core.releaseUpload();
      const saved = core.save({ upload });
      core.context.afterCommit(() => {
        if (before !== null && !neededBlobs(core).has(before.blob)) core.removeUpload(before.blob);
      });
      queue.advance();
      return saved;
    },
    'upload-abort': async ({ uploadId }) => {
      const isReserved = core.uploadId === uploadId;
      if (isReserved) core.releaseUpload();
      // A failed commit has ended the reservation too, and left its file.
      if (core.uploadId === null) await core.uploads.keep(neededBlobs(core));
      queue.advance();
      return isReserved;
    },
  } satisfies Handlers;
}

/** The name of an archive in the upload folder until the app points at it. */
function arrivingName(uploadId: string): string {
  return `${uploadId}.new`;
}

function checkFree(core: AppCore): void {
  const app = core.require();
  checkNotHeld(core);
  if (app.source !== 'UPLOAD') {
    throw new ServiceError('NOT_AN_UPLOAD_APP', `The source of this app is ${app.source}.`);
  }
  if (core.uploadId !== null) {
    throw new ServiceError('UPLOAD_IN_PROGRESS', 'Another upload to this app is running.');
  }
  const { queued, underWay } = core;
  const begins = queued !== undefined && !core.deps.buildQueue.isWaiting(queued.id);
  if (underWay !== undefined || begins) {
    throw new ServiceError('DEPLOY_IN_PROGRESS', 'A deployment of this app is running.');
  }
}

function neededBlobs(core: AppCore): Set<string> {
  const uploads = [core.record?.upload, ...core.open.map(({ upload }) => upload)];
  return new Set(uploads.flatMap((upload) => upload?.blob ?? []));
}
