/** Owns the subscriptions in the schema; what there is to follow comes from `LiveSource`. */
import { appStates, databaseStates, deploymentLines } from '../live/iterators.ts';
import type { addApps } from './apps.ts';
import type { Builder } from './builder.ts';
import type { addDatabases } from './databases.ts';
import type { addLogs } from './logs.ts';

interface LiveTypes {
  app: ReturnType<typeof addApps>['app'];
  database: ReturnType<typeof addDatabases>;
  logLine: ReturnType<typeof addLogs>['logLine'];
}

export function addLive(builder: Builder, { app, database, logLine }: LiveTypes): void {
  builder.subscriptionFields((t) => ({
    appStatus: t.field({
      type: app,
      description: 'The app as it is, and again whenever it or a deployment of it changed.',
      args: { id: t.arg.id({ required: true }) },
      subscribe: (_root, { id }, context) => appStates(context, id),
      resolve: (record) => record,
    }),
    databaseStatus: t.field({
      type: database,
      description: 'The database as it is, and again whenever it changed.',
      args: { id: t.arg.id({ required: true }) },
      subscribe: (_root, { id }, context) => databaseStates(context, id),
      resolve: (record) => record,
    }),
    deploymentLog: t.field({
      type: logLine,
      description: 'The log from its start, then live until the deployment is finished.',
      args: { id: t.arg.id({ required: true }) },
      subscribe: (_root, { id }, context) => deploymentLines(context, id),
      resolve: (line) => line,
    }),
  }));
}
