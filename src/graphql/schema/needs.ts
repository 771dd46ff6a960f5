/**
 * Owns fields that need a capability: it is named once. The field's description begins with it, and it
 * is asked for before the field's own work, together with the look-up of what the field is about.
 */
import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import type { GraphQLResolveInfo } from 'graphql';
import type { Capability } from '../../lib/capabilities.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { AppRecord, DatabaseRecord } from '../../store/records/records.ts';
import { instanceTarget } from '../../actors/backup/protocol.ts';
import {
  requireAdmin,
  requireApp,
  requireBackupRun,
  requireBackupSchedule,
  requireDatabase,
  requireDeployment,
  requireDestination,
  requireDomain,
  requireFolder,
  requireGitConnection,
  requirePerson,
  requirePreview,
  requireTeam,
} from '../access.ts';
import type { GraphContext } from '../context.ts';
import { builder } from './builder.ts';

/** What a field is about: the arguments that name it, and how it is found with the right to it. */
interface Subject<Args extends InputFieldMap, Found, Parent = unknown> {
  args: Args;
  find: (
    context: GraphContext,
    need: Capability,
    given: InputShapeFromFields<Args>,
    parent: Parent,
  ) => Found;
}

interface NeedyField<Args extends InputFieldMap, Given, Found, Result> {
  /** What is said behind the capability. */
  description?: string;
  /** Besides those of the subject. */
  args?: Args;
  resolve: (
    found: Found,
    given: Given & InputShapeFromFields<Args>,
    context: GraphContext,
    info: GraphQLResolveInfo,
  ) => Result;
}

/** The options of a field that needs `need` over its subject. */
export function needs<
  Own extends InputFieldMap,
  Found,
  Result,
  Args extends InputFieldMap = Own,
  Parent = unknown,
>(
  need: Capability,
  subject: Subject<Own, Found, Parent>,
  field: NeedyField<Args, InputShapeFromFields<Own>, Found, Result>,
) {
  type Given = InputShapeFromFields<Own> & InputShapeFromFields<Args>;
  const { description = '', args, resolve } = field;
  const joint = /^(\w|$)/.test(description) ? '. ' : '';
  return {
    description: `${need}${joint}${description}`.trim(),
    args: { ...subject.args, ...args } as Own & Args,
    resolve: (parent: Parent, given: Given, context: GraphContext, info: GraphQLResolveInfo) =>
      resolve(subject.find(context, need, given, parent), given, context, info),
  };
}

/** The acting team; its id. */
export const actingTeam = { args: {}, find: requireTeam };

/** A person by cookie, with the acting team. */
export const personInTeam = {
  args: {},
  find: (context: GraphContext, need: Capability) => ({
    sessionId: requirePerson(context).sessionId,
    teamId: requireTeam(context, need),
  }),
};

type Require<Found> = (context: GraphContext, id: string, need: Capability) => Found;

const byId = <Found>(require: Require<Found>) => ({
  args: builder.args((t) => ({ id: t.id({ required: true }) })),
  find: (context: GraphContext, need: Capability, { id }: { id: string }) =>
    require(context, id, need),
});

export const appById = byId(requireApp);
export const databaseById = byId(requireDatabase);
export const backupRunById = byId(requireBackupRun);
export const backupScheduleById = byId(requireBackupSchedule);
export const destinationById = byId(requireDestination);
export const domainById = byId(requireDomain);
export const deploymentById = byId(requireDeployment);
export const folderById = byId(requireFolder);
export const previewById = byId(requirePreview);
export const gitConnectionById = byId(requireGitConnection);

/** An app, where its argument is named `appId`. */
export const appByAppId = {
  args: builder.args((t) => ({ appId: t.id({ required: true }) })),
  find: (context: GraphContext, need: Capability, { appId }: { appId: string }) =>
    requireApp(context, appId, need),
};

/** A domain, where its argument is named `domainId`. */
export const domainByDomainId = {
  args: builder.args((t) => ({ domainId: t.id({ required: true }) })),
  find: (context: GraphContext, need: Capability, { domainId }: { domainId: string }) =>
    requireDomain(context, domainId, need),
};

/** A git connection, where its argument is named `connectionId`. */
export const gitConnectionByConnectionId = {
  args: builder.args((t) => ({ connectionId: t.id({ required: true }) })),
  find: (context: GraphContext, need: Capability, { connectionId }: { connectionId: string }) =>
    requireGitConnection(context, connectionId, need),
};

/** A folder, where its argument is named `folderId`. */
export const folderByFolderId = {
  args: builder.args((t) => ({ folderId: t.id({ required: true }) })),
  find: (context: GraphContext, need: Capability, { folderId }: { folderId: string }) =>
    requireFolder(context, folderId, need),
};

/** What has logs and metrics. */
export type Owner =
  | { app: Readonly<AppRecord>; database?: never }
  | { app?: never; database: Readonly<DatabaseRecord> };

const ownerArgs = builder.args((t) => ({ appId: t.id(), databaseId: t.id() }));

/** What a schedule is of, by its id; BAD_USER_INPUT unless it is one thing. */
export function backedUp(
  context: GraphContext,
  need: Capability,
  {
    instance,
    ...named
  }: InputShapeFromFields<typeof ownerArgs> & { instance?: boolean | null | undefined },
): string {
  if (instance !== true) {
    const { app, database } = appOrDatabase.find(context, need, named, undefined);
    return (app ?? database).id;
  }
  if (named.appId != null || named.databaseId != null) {
    throw new ServiceError('BAD_USER_INPUT', 'Name either appId, databaseId or instance.');
  }
  requireAdmin(context);
  return instanceTarget;
}

/** An app or a database; BAD_USER_INPUT for both and for neither. */
export const appOrDatabase: Subject<typeof ownerArgs, Owner> = {
  args: ownerArgs,
  find: (context, need, { appId, databaseId }) => {
    if (appId != null && databaseId == null) return { app: requireApp(context, appId, need) };
    if (databaseId != null && appId == null) {
      return { database: requireDatabase(context, databaseId, need) };
    }
    throw new ServiceError('BAD_USER_INPUT', 'Name either appId or databaseId.');
  },
};
