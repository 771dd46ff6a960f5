/**
 * Owns the app that runs a preview: an app as any other, but for what is decided at the app that it is a preview of.
 */
import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../../lib/errors.ts';
import type { AppRecord, GitSource, PreviewSource } from '../../../store/records/records.ts';
import { tables } from '../../../store/records/tables.ts';
import type { Actor } from '../../runtime/actor.ts';
import type { AppCore } from '../core.ts';
import type { DeploymentQueue } from '../deploying/deployments.ts';
import type { AppProtocol, Handlers } from '../protocol.ts';
import { insertApp, newRecord } from '../settings/settings.ts';
import { previewSlugOf, slugOf } from '../settings/slug.ts';

const nameMax = 60;

export function shownBranchHandlers(core: AppCore, queue: DeploymentQueue) {
  return {
    'preview-show': async ({ appId, branch, commitSha, commitMessage }) => {
      const source = { appId, branch, commitSha };
      const app = core.deps.reader.get(tables.apps, appId);
      if (app?.git == null || app.deletedAtMs !== null) {
        throw new ServiceError('NOT_FOUND', 'No such app.');
      }
      const shown = core.record ?? (await insertApp(core, recordOf(core, app, app.git, source)));
      if (shown.deletedAtMs !== null) throw new ServiceError('CONFLICT', 'The preview is closed.');
      const settings = settingsOf(app, app.git, source);
      const { build, resources, git, name } = shown;
      if (!isDeepStrictEqual({ build, resources, git, name }, settings)) core.save(settings);
      const isAsked = shown.previewOf?.commitSha === commitSha && shown.latestDeploymentId !== null;
      if (isAsked) return core.require();
      queue.request({
        ...{ trigger: 'git_push', branch, commitSha },
        ...(commitMessage !== null && { commitMessage }),
      });
      return core.save({ previewOf: source });
    },
  } satisfies Handlers;
}

function recordOf(
  core: AppCore,
  app: Readonly<AppRecord>,
  git: GitSource,
  previewOf: PreviewSource,
): AppRecord {
  const { teamId, serverId, slug } = app;
  const place = { teamId, serverId, folderId: null };
  const settings = settingsOf(app, git, previewOf);
  const input = { ...place, ...settings, image: null, compose: null, env: [] };
  return {
    ...newRecord(core, { ...input, source: 'GIT' }),
    slug: previewSlugOf(previewOf.branch, slug),
    deployHookEnabled: false,
    previewOf,
  };
}

function settingsOf(
  { name, build, resources }: Readonly<AppRecord>,
  git: GitSource,
  { branch }: PreviewSource,
) {
  const label = Array.from(name).slice(0, nameMax).join('').trim();
  return {
    name: `${label} (${slugOf(branch).slice(0, nameMax / 2)})`,
    git: { ...git, branch },
    build,
    resources: { ...resources, replicas: 1 },
  };
}

/** What a preview has from its app, and what would outlive it. */
const elsewhere: ReadonlySet<string> = new Set<keyof AppProtocol>([
  ...(['update', 'delete', 'restore', 'purge', 'stop'] as const),
  ...(['env-upsert', 'env-delete', 'hook-reveal', 'hook-rotate', 'hook-enable'] as const),
  'move',
  ...(['restore-begin', 'restore-commit', 'restore-run'] as const),
]);

/** The handlers, which refuse a preview what is decided elsewhere: CONFLICT. */
export function withoutSettings(core: AppCore, handlers: Actor<AppProtocol>): Actor<AppProtocol> {
  const guarded = Object.entries(handlers).map(([type, handle]) => {
    if (!elsewhere.has(type)) return [type, handle] as const;
    const guard = (message: never): unknown => {
      if (core.record?.previewOf === undefined) return handle(message);
      throw new ServiceError('CONFLICT', 'This is a preview: its app has the settings.');
    };
    return [type, guard] as const;
  });
  return Object.fromEntries(guarded) as Actor<AppProtocol>;
}
