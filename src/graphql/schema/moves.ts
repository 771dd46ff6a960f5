/** Owns moves to other servers in the schema. */
import { appActor } from '../../actors/app/protocol.ts';
import { databaseActor } from '../../actors/database/protocol.ts';
import type { MoveRecord } from '../../store/records/records.ts';
import { askActor, requireServer } from '../access.ts';
import { AppType } from './apps.ts';
import { builder } from './builder.ts';
import { DatabaseType } from './databases.ts';
import { appById, databaseById, needs } from './needs.ts';

const MoveType = builder.objectRef<Readonly<MoveRecord>>('Move').implement({
  description: 'The latest move of an app or a database to another server.',
  fields: (t) => ({
    fromServerId: t.exposeID('fromServerId'),
    toServerId: t.exposeID('toServerId'),
    phase: t.exposeString('phase', {
      description:
        'copying: it is stopped where it was while its data goes over; starting: it starts there; then done, or failed: it is where it was.',
    }),
    copiedBytes: t.float({ resolve: ({ bytes }) => bytes }),
    error: t.exposeString('error', { nullable: true, description: 'Why it failed.' }),
    startedAt: t.expose('startedAtMs', { type: 'DateTime' }),
    endedAt: t.expose('endedAtMs', { type: 'DateTime', nullable: true }),
  }),
});

const lastMove = {
  type: MoveType,
  nullable: true,
  description: 'Null: it was never moved.',
} as const;
builder.objectField(AppType, 'move', (t) =>
  t.field({ ...lastMove, resolve: ({ move }) => move ?? null }),
);
builder.objectField(DatabaseType, 'move', (t) =>
  t.field({ ...lastMove, resolve: ({ move }) => move ?? null }),
);

const ways =
  'Answers as soon as it has begun: `move` tells how it goes. It is stopped while its data goes over, and goes on where ' +
  'it was when it is not well there. To the server that it came from, while it goes on: it stays there. CONFLICT while what its ' +
  'last move left is still to be removed, and while ';

builder.mutationFields((t) => ({
  moveApp: t.field({
    type: AppType,
    ...needs('configure_apps', appById, {
      description: `${ways}a variable refers to a database of another server.`,
      args: { serverId: t.arg.id({ required: true }) },
      resolve: ({ id }, { serverId }, context) => {
        requireServer(context, serverId);
        return askActor(context, appActor.at(id), { type: 'move', serverId });
      },
    }),
  }),
  moveDatabase: t.field({
    type: DatabaseType,
    ...needs('configure_databases', databaseById, {
      description: `${ways}an app that runs refers to it and is on another server. ENGINE_NOT_AVAILABLE without its version there.`,
      args: { serverId: t.arg.id({ required: true }) },
      resolve: ({ id }, { serverId }, context) => {
        requireServer(context, serverId);
        return askActor(context, databaseActor.at(id), { type: 'move', serverId });
      },
    }),
  }),
}));
