/** Owns folders in the schema. */
import { teamActor } from '../../actors/team/protocol.ts';
import { can } from '../../auth/authorize.ts';
import type { FolderRecord } from '../../store/records.ts';
import { tables } from '../../store/tables.ts';
import { requireFolder, requireTeam, writeSide } from '../access.ts';
import type { Builder } from './builder.ts';

export function addFolders(builder: Builder) {
  const folder = builder.objectRef<Readonly<FolderRecord>>('Folder').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      parentId: t.exposeID('parentId', { nullable: true }),
    }),
  });
  builder.queryFields((t) => ({
    folders: t.field({
      type: [folder],
      resolve: (_root, _args, context) => {
        const { reader } = context.read;
        return reader
          .list(tables.folders, 'team', [requireTeam(context, null)], { limit: 10_000 })
          .filter((record) =>
            can(reader, context.principal, null, { kind: 'folder', folder: record }),
          );
      },
    }),
  }));
  builder.mutationFields((t) => ({
    createFolder: t.field({
      type: folder,
      description: 'manage_folders.',
      args: { name: t.arg.string({ required: true }), parentId: t.arg.id() },
      resolve: (_root, { name, parentId }, context) => {
        const teamId =
          parentId == null
            ? requireTeam(context, 'manage_folders')
            : requireFolder(context, parentId, 'manage_folders').teamId;
        return writeSide(context).actors.ask(teamActor.at(teamId), {
          type: 'folder-create',
          name,
          parentId: parentId ?? null,
        });
      },
    }),
    deleteFolder: t.boolean({
      description: 'manage_folders. Refused while apps or folders are in it.',
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, context) => {
        const record = requireFolder(context, id, 'manage_folders');
        return writeSide(context).actors.ask(teamActor.at(record.teamId), {
          type: 'folder-delete',
          folderId: record.id,
        });
      },
    }),
  }));
  return { folder };
}
