/** Owns previews in the schema. Each has the id of the app that runs it. */
import { urlsOf } from '../../actors/edge/app-urls.ts';
import { appActor } from '../../actors/app/protocol.ts';
import type { Reader } from '../../store/reader-and-journal.ts';
import type { PreviewRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, requireApp } from '../access.ts';
import { builder } from './builder.ts';
import { appByAppId, needs, previewById } from './needs.ts';

const statuses = ['awaiting_approval', 'building', 'active', 'failed', 'closed'] as const;
type Status = (typeof statuses)[number];

const PreviewStatusType = builder.enumType('PreviewStatus', { values: statuses });

const PreviewType = builder.objectRef<Readonly<PreviewRecord>>('Preview').implement({
  description:
    'A branch of an app at an address of its own. By its id it is an app too, which stands in no list: for logs, ' +
    'deployments, metrics and consoles.',
  fields: (t) => ({
    id: t.exposeID('id'),
    appId: t.exposeID('appId', { description: 'The app that it is a preview of.' }),
    branch: t.exposeString('branch'),
    url: t.string({
      nullable: true,
      description: 'Null before it is made, and when it is closed.',
      resolve: ({ id, phase }, _args, { read }) => {
        const app = phase === 'closed' ? undefined : read.reader.get(tables.apps, id);
        return app ? urlsOf(app, read.settings)[0] : null;
      },
    }),
    status: t.field({
      type: PreviewStatusType,
      resolve: (preview, _args, { read }) => statusOf(preview, read.reader),
    }),
    commitSha: t.exposeString('commitSha', {
      nullable: true,
      description: 'The newest that was pushed; one that waits for approval is not what is shown.',
    }),
    updatedAt: t.expose('updatedAtMs', { type: 'DateTime' }),
  }),
});

function statusOf({ id, phase, isPending }: Readonly<PreviewRecord>, reader: Reader): Status {
  switch (phase) {
    case 'waiting':
      return 'awaiting_approval';
    case 'checking':
      return 'building';
    case 'closing':
    case 'closed':
      return 'closed';
    case 'open':
      return isPending ? 'building' : shownStatus(id, reader);
  }
}

/** Where the newest commit could not be shown, the one before it may be. */
function shownStatus(id: string, reader: Reader): Status {
  const { status, latestDeploymentId } = reader.get(tables.apps, id) ?? {};
  if (status === 'queued' || status === 'building') return 'building';
  const latest = latestDeploymentId ? reader.get(tables.deployments, latestDeploymentId) : null;
  return status === 'active' && latest?.status !== 'failed' ? 'active' : 'failed';
}

builder.queryFields((t) => ({
  previews: t.field({
    type: [PreviewType],
    description: 'Those of an app, also some that are closed; the last that were used first.',
    args: appByAppId.args,
    resolve: (_root, { appId }, context) => {
      const { id } = requireApp(context, appId, null);
      return context.read.reader
        .list(tables.previews, 'app', [id], { limit: Infinity })
        .toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);
    },
  }),
}));

builder.mutationFields((t) => ({
  approvePreview: t.field({
    type: PreviewType,
    ...needs('deploy_apps', previewById, {
      description:
        'Builds the commit that waits. Each further push of the same person waits again.',
      resolve: ({ id, appId }, _args, context) =>
        askActor(context, appActor.at(appId), { type: 'preview-approve', previewId: id }),
    }),
  }),
  closePreview: t.field({
    type: PreviewType,
    ...needs('deploy_apps', previewById, {
      description: 'Its app and its data go with it. The next push to the branch opens another.',
      resolve: ({ id, appId }, _args, context) =>
        askActor(context, appActor.at(appId), { type: 'preview-close', previewId: id }),
    }),
  }),
}));
