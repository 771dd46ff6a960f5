/** Owns folders in the schema. */
import { teamActor } from '../../actors/team/protocol.ts';
import { seenFolders } from '../../auth/rights/authorize.ts';
import { assertMayGive } from '../../auth/rights/escalation.ts';
import type { FolderGrantRecord, FolderRecord } from '../../store/records/records.ts';
import { tables } from '../../store/records/tables.ts';
import { askActor, canSeeFolder, requirePlace, requireTeam } from '../access.ts';
import { builder, CapabilityType } from './builder.ts';
import { folderByFolderId, folderById, needs } from './needs.ts';

const FolderType = builder.objectRef<Readonly<FolderRecord>>('Folder').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    parentId: t.id({
      nullable: true,
      description: 'Null at the top, and where the caller does not see the folder above.',
      resolve: ({ parentId }, _args, context) =>
        parentId !== null && canSeeFolder(context, parentId) ? parentId : null,
    }),
  }),
});

const FolderGrantType = builder.objectRef<Readonly<FolderGrantRecord>>('FolderGrant').implement({
  fields: (t) => ({
    folderId: t.exposeID('folderId'),
    userId: t.exposeID('userId'),
    capabilities: t.expose('capabilities', { type: [CapabilityType] }),
  }),
});

builder.queryFields((t) => ({
  folders: t.field({
    type: [FolderType],
    resolve: (_root, _args, context) => {
      const { reader } = context.read;
      const teamId = requireTeam(context, null);
      const all = reader.list(tables.folders, 'team', [teamId], { limit: 10_000 });
      return seenFolders(reader, context.principal, teamId, all);
    },
  }),
  folderGrants: t.field({
    type: [FolderGrantType],
    ...needs('manage_members', folderByFolderId, {
      description: 'Those on the folder itself, not those above it.',
      resolve: (folder, _args, { read }) =>
        read.reader.list(tables.folderGrants, 'folder', [folder.id]),
    }),
  }),
}));

builder.mutationFields((t) => ({
  createFolder: t.field({
    type: FolderType,
    ...needs(
      'manage_folders',
      {
        args: { parentId: t.arg.id() },
        find: (context, need, { parentId }) => requirePlace(context, parentId, need),
      },
      {
        args: { name: t.arg.string({ required: true }) },
        resolve: (teamId, { name, parentId = null }, context) =>
          askActor(context, teamActor.at(teamId), { type: 'folder-create', name, parentId }),
      },
    ),
  }),
  deleteFolder: t.boolean(
    needs('manage_folders', folderById, {
      description: 'Refused while apps or folders are in it.',
      resolve: ({ id, teamId }, _args, context) =>
        askActor(context, teamActor.at(teamId), { type: 'folder-delete', folderId: id }),
    }),
  ),
  setFolderGrant: t.field({
    type: [FolderGrantType],
    ...needs('manage_members', folderByFolderId, {
      description:
        ', and what is given. What a member holds in the folder and below it besides the role; none ends it.',
      args: {
        userId: t.arg.id({ required: true }),
        capabilities: t.arg({ type: [CapabilityType], required: true }),
      },
      resolve: (folder, { folderId, userId, capabilities }, context) => {
        const { teamId } = folder;
        const place = { kind: 'folder', folder } as const;
        assertMayGive(context.read.reader, context.principal, teamId, capabilities, place);
        const grant = { folderId, userId, capabilities };
        return askActor(context, teamActor.at(teamId), { type: 'folder-grant-set', ...grant });
      },
    }),
  }),
}));
