/**
 * Owns the fetching of a deployment's source: the newest commit of the branch, or the one that a preview may show, as an
 * archive that is unpacked as an upload is, with the same checks.
 */
import { reach } from '../../workload/reach.ts';
import type { GitSource } from '../../../store/records/records.ts';
import { fetchJobOf } from '../running/containers.ts';
import type { AppCore } from '../core.ts';
import { sourceBlob, takesPushes } from '../settings/git-source.ts';
import type { BuildWork } from './work.ts';

/** Returns the archive, a tar among the app's uploads. Rejects with GIT_FAILED, GIT_PROVIDER_FAILED and NOT_DEPLOYABLE. */
export async function fetchSource(work: BuildWork, git: GitSource): Promise<string> {
  const { core, app, deployment, signal, say, committed } = work;
  const { clock } = core.deps;
  const { fetch, pushed, remoteOf } = core.deps.git;
  await core.uploads.ensure();
  // An earlier try may have left one.
  await keepLiveSource(core);
  const archive = core.uploads.file(sourceBlob(deployment));
  const request = {
    job: fetchJobOf(deployment.id, core.context.epoch),
    appId: app.id,
    teamId: app.teamId,
    branch: deployment.branch ?? git.branch,
    sha: app.previewOf === undefined ? null : deployment.commitSha,
    path: git.path,
    archive,
    found: committed,
    say,
    signal,
  };
  if (takesPushes(git)) {
    const pushedTo = app.previewOf?.appId ?? app.id;
    await reach(clock, signal, () => pushed({ ...request, pushedTo }));
    return archive;
  }
  const { connectionId, submodules = false } = git;
  const from = { connectionId, submodules, remote: await remoteOf(app) };
  await reach(clock, signal, () => fetch({ ...request, ...from }));
  return archive;
}

/** Removes all sources that were fetched but that of what is live. */
export async function keepLiveSource(core: AppCore): Promise<void> {
  const liveId = core.record?.liveDeploymentId ?? null;
  const live = liveId === null ? undefined : core.deployment(liveId);
  await core.uploads.keep(new Set(live && [sourceBlob(live)]));
}
