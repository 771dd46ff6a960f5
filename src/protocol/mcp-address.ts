/** Owns the address of MCP: which tools it offers stands in its query. */

export const mcpPath = '/api/mcp';

/** What `?tools=` may name besides the tools themselves; `read` stands for all that change nothing. */
// prettier-ignore
export const toolGroups = [
  'teams', 'apps', 'deployments', 'logs', 'env', 'databases', 'backups', 'search', 'graphql',
] as const;
export type ToolGroup = (typeof toolGroups)[number];

/** Which tools the address offers. */
export interface ToolFilter {
  /** Names of groups; none: all groups. */
  readonly groups: readonly string[];
  readonly readonly: boolean;
}

/** `/api/mcp` with the query that leaves tools out. */
export function filteredPath({ groups, readonly }: ToolFilter): string {
  const parts = [
    ...(groups.length > 0 ? [`tools=${groups.join(',')}`] : []),
    ...(readonly ? ['readonly=1'] : []),
  ];
  return parts.length > 0 ? `${mcpPath}?${parts.join('&')}` : mcpPath;
}
