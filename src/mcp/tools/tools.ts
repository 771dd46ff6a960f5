/** Owns the list of tools. A tool whose operations the schema lacks is left out. */
import type { GraphQLSchema } from 'graphql';
import type { Tool } from '../tool.ts';
import type { Rights } from '../rights.ts';
import { appTools, listTeams } from './apps.ts';
import { backupTools } from './backups.ts';
import { databaseTools } from './databases.ts';
import { deploymentTools } from './deployments.ts';
import { documentTool } from './document-tool.ts';
import { envTools } from './env.ts';
import { graphqlTools } from './graphql.ts';
import { logTools } from './logs.ts';
import { search } from './search.ts';

export function createTools(schema: GraphQLSchema, rights: Rights): Tool[] {
  const all = [
    listTeams(rights),
    ...appTools,
    ...deploymentTools(schema),
    ...logTools,
    ...envTools,
    ...databaseTools,
    ...backupTools(schema),
    search,
    ...graphqlTools(schema),
  ];
  return all.map((tool) => ('document' in tool ? documentTool(schema, tool) : tool));
}
