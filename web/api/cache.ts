/**
 * Owns what the cache knows of the schema: which objects stand for themselves, and which lists a mutation
 * changes. What a mutation returns updates its object everywhere by itself; only lists need a word here.
 */
import {
  type Cache,
  cacheExchange,
  type OptimisticMutationConfig,
  type UpdatesConfig,
} from '@urql/exchange-graphcache';
import { type Asked, follow, refetch } from './team-changes.ts';

export function cache(asked: Asked) {
  const teamChanges = follow(asked);
  const updates: UpdatesConfig = { Mutation: mutations, Subscription: { teamChanges } };
  return cacheExchange({ keys, updates, optimistic });
}

/** Types with an id that is not unique by itself, or with another key. */
const keys = {
  FolderGrant: (grant: Record<string, unknown>) =>
    `${String(grant['folderId'])}:${String(grant['userId'])}`,
  Member: (member: Record<string, unknown>) => member['userId'] as string | null,
};

/**
 * Shown before the answer is there, and taken back where that is a refusal: only what is one value of one object, and
 * is undone as easily as it is done. What starts, stops or deletes anything waits.
 */
const optimistic: OptimisticMutationConfig = {
  updateBackupSchedule: ({ id, enabled }) => ({ __typename: 'BackupSchedule', id, enabled }),
  updateMember: ({ userId, roleId }) => ({
    ...{ __typename: 'Member', userId, role: { __typename: 'Role', id: roleId } },
  }),
};

type Update = (result: unknown, args: Record<string, unknown>, cache: Cache) => void;

const changes =
  (...names: readonly string[]): Update =>
  (_result, _args, cache) =>
    refetch(cache, names);

/** Removes the object named by the argument `id`, and asks for the lists anew. */
const removes =
  (type: string, ...names: readonly string[]): Update =>
  (_result, args, cache) => {
    cache.invalidate({ __typename: type, id: args['id'] as string });
    refetch(cache, names);
  };

const mutations: Readonly<Record<string, Update>> = {
  createApp: changes('apps', 'folders'),
  deleteApp: removes('App', 'apps', 'trash'),
  updateApp: changes('apps'),
  createDatabase: changes('databases'),
  deleteDatabase: removes('Database', 'databases', 'trash'),
  createFolder: changes('folders'),
  deleteFolder: removes('Folder', 'folders'),
  setFolderGrant: changes('folderGrants'),
  restoreFromTrash: changes('trash', 'apps', 'databases'),
  purgeFromTrash: changes('trash'),
  createTeam: changes('myTeams'),
  createToken: changes('apiTokens'),
  revokeToken: removes('ApiToken', 'apiTokens'),
  createRole: changes('roles'),
  deleteRole: removes('Role', 'roles'),
  inviteMember: changes('invites'),
  revokeInvite: removes('Invite', 'invites'),
  removeMember: changes('members'),
  createDestination: changes('backupDestinations'),
  deleteDestination: removes('BackupDestination', 'backupDestinations'),
  createBackupSchedule: changes('backupSchedules'),
  deleteBackupSchedule: removes('BackupSchedule', 'backupSchedules'),
  runBackup: changes('backupRuns'),
  runInstanceBackup: changes('backupRuns'),
  addRegistry: changes('registries'),
  removeRegistry: removes('Registry', 'registries'),
  connectGitProvider: changes('gitConnections'),
  removeGitConnection: removes('GitConnection', 'gitConnections'),
  approvePreview: changes('previews'),
  closePreview: changes('previews'),
  replayGitDelivery: changes('gitDeliveries'),
  addServer: changes('servers'),
  removeServer: removes('Server', 'servers'),
  updateInstanceSettings: changes('instanceSettings'),
  revokeSession: changes('mySessions'),
  revokeGrant: changes('myGrants'),
  upsertEnv: changes('env'),
  deleteEnv: changes('env'),
};
