/** Owns folders in the schema. */
import { teamActor } from '../../actors/team/protocol.ts';
import { can, seenFolders } from '../../auth/rights/authorize.ts';
import { assertMayGive } from '../../auth/rights/escalation.ts';
import type { FolderGrantRecord, FolderRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { requireFolder, requireTeam, writeSide } from '../access.ts';
import type { Builder, Shared } from './builder.ts';

export function addFolders(builder: Builder, shared: Shared): void {
  const folder = builder.objectRef<Readonly<FolderRecord>>('Folder').implement({
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      parentId: t.id({
        nullable: true,
        description: 'Null at the top, and where the caller does not see the folder above.',
        resolve: ({ parentId }, _args, { read, principal }) => {
          const above = parentId === null ? null : read.reader.get(tables.folders, parentId);
          if (!above) return null;
          return can(read.reader, principal, null, { kind: 'folder', folder: above })
            ? above.id
            : null;
        },
      }),
    }),
  });
  builder.queryFields((t) => ({
    folders: t.field({
      type: [folder],
      resolve: (_root, _args, context) => {
        const { reader } = context.read;
        const teamId = requireTeam(context, null);
        const all = reader.list(tables.folders, 'team', [teamId], { limit: 10_000 });
        return seenFolders(reader, context.principal, teamId, all);
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
  addGrants(builder, shared);
}

function addGrants(builder: Builder, { capability }: Shared): void {
  const grant = builder.objectRef<Readonly<FolderGrantRecord>>('FolderGrant').implement({
    fields: (t) => ({
      folderId: t.exposeID('folderId'),
      userId: t.exposeID('userId'),
      capabilities: t.expose('capabilities', { type: [capability] }),
    }),
  });
  builder.queryField('folderGrants', (t) =>
    t.field({
      type: [grant],
      description: 'manage_members. Those on the folder itself, not those above it.',
      args: { folderId: t.arg.id({ required: true }) },
      resolve: (_root, { folderId }, context) => {
        const folder = requireFolder(context, folderId, 'manage_members');
        return context.read.reader.list(tables.folderGrants, 'folder', [folder.id]);
      },
    }),
  );
  builder.mutationField('setFolderGrant', (t) =>
    t.field({
      type: [grant],
      description:
        'manage_members, and what is given. What a member holds in the folder and below it besides the role; none ends it.',
      args: {
        folderId: t.arg.id({ required: true }),
        userId: t.arg.id({ required: true }),
        capabilities: t.arg({ type: [capability], required: true }),
      },
      resolve: (_root, { folderId, userId, capabilities }, context) => {
        const folder = requireFolder(context, folderId, 'manage_members');
        const { teamId } = folder;
        assertMayGive(context.read.reader, context.principal, teamId, capabilities, {
          kind: 'folder',
          folder,
        });
        return writeSide(context).actors.ask(teamActor.at(teamId), {
          type: 'folder-grant-set',
          folderId: folder.id,
          userId,
          capabilities,
        });
      },
    }),
  );
}
