/** Owns the subscriptions in the schema; what there is to follow comes from `LiveSource`. */
import { appStates, databaseStates, deploymentLines } from '../live/iterators.ts';
import { AppType } from './apps.ts';
import { builder } from './builder.ts';
import { DatabaseType } from './databases.ts';
import { LogLineType } from './logs.ts';

builder.subscriptionFields((t) => ({
  appStatus: t.field({
    type: AppType,
    description: 'The app as it is, and again whenever it or a deployment of it changed.',
    args: { id: t.arg.id({ required: true }) },
    subscribe: (_root, { id }, context) => appStates(context, id),
    resolve: (record) => record,
  }),
  databaseStatus: t.field({
    type: DatabaseType,
    description: 'The database as it is, and again whenever it changed.',
    args: { id: t.arg.id({ required: true }) },
    subscribe: (_root, { id }, context) => databaseStates(context, id),
    resolve: (record) => record,
  }),
  deploymentLog: t.field({
    type: LogLineType,
    description: 'The log from its start, then live until the deployment is finished.',
    args: { id: t.arg.id({ required: true }) },
    subscribe: (_root, { id }, context) => deploymentLines(context, id),
    resolve: (line) => line,
  }),
}));
