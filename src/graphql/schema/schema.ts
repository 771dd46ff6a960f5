/** Owns the assembly of the schema from its topics. What is not built yet is not in it. */
import { defaultFieldResolver, type GraphQLSchema, isObjectType } from 'graphql';
import { addAccountSecurity } from './account-security.ts';
import { auditMutations } from '../audited-mutations.ts';
import { addAccounts } from './accounts.ts';
import { addActivity } from './activity.ts';
import { addAppChanges } from './app-changes.ts';
import { addAppParts } from './app-parts.ts';
import { addApps } from './apps.ts';
import { addShared, createBuilder, schemaDirectives } from './builder.ts';
import { addConsoles } from './consoles.ts';
import { addDatabases } from './databases.ts';
import { addDeployHook } from './deploy-hook.ts';
import { addDeployments } from './deployments.ts';
import { addEnv } from './env.ts';
import { addFolders } from './folders.ts';
import { addGrants } from './grants.ts';
import { addInstance } from './instance.ts';
import { addLive } from './live.ts';
import { addLogs } from './logs.ts';
import { addMetrics } from './metrics.ts';
import { addRegistries } from './registries.ts';
import { addTeams } from './teams.ts';
import { addTokens } from './tokens.ts';
import { addTrash } from './trash.ts';

/** Builds the executable schema; about 20 ms, so once a thread and not before it is needed. */
export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  builder.queryType();
  builder.mutationType();
  builder.subscriptionType();
  const shared = addShared(builder);
  const accounts = addAccounts(builder, shared);
  addAccountSecurity(builder, accounts);
  addTeams(builder, { shared, accounts });
  const logs = addLogs(builder, shared);
  const deployments = addDeployments(builder, shared, logs);
  const env = addEnv(builder);
  const leaves = addAppParts(builder);
  const { app } = addApps(builder, { shared, accounts, deployments, leaves });
  const inputs = addAppChanges(builder, { app, source: leaves.source, entryInput: env.entryInput });
  const database = addDatabases(builder, { app, leaves, inputs });
  addConsoles(builder);
  addFolders(builder, shared);
  addDeployHook(builder, { app });
  addTokens(builder, shared);
  addGrants(builder, shared);
  addRegistries(builder);
  addTrash(builder);
  addMetrics(builder);
  addInstance(builder);
  addActivity(builder, shared);
  addLive(builder, { app, database, logLine: logs.logLine });
  const schema = builder.toSchema({ directives: schemaDirectives });
  dropDefaultResolvers(schema);
  auditMutations(schema);
  return schema;
}

/** A field without a resolver is read off its parent: compiled queries do that without a call. */
function dropDefaultResolvers(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      if (field.resolve === defaultFieldResolver) delete field.resolve;
    }
  }
}
