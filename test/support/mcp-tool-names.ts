/** Every tool of MCP by name, beside the capability without which it is not listed. */

/** The tools that a capability is needed for. */
export const neededFor: Readonly<Record<string, readonly string[]>> = {
  view_logs: ['read_logs'],
  manage_env: ['list_env', 'set_env', 'delete_env'],
  create_apps: ['create_app'],
  create_databases: ['create_database'],
  control_apps: ['start_app', 'stop_app', 'restart_app'],
  delete_apps: ['delete_app'],
  restore_backups: ['restore_backup'],
  manage_backups: ['run_backup'],
  deploy_apps: ['cancel_deployment', 'rollback_app', 'deploy_app'],
};

/** The tools that every token sees. */
// prettier-ignore
export const freeTools = [
  'list_teams', 'list_apps', 'get_app', 'list_deployments', 'get_deployment', 'wait_for_deployment',
  'get_deployment_log', 'list_databases', 'get_database', 'list_backups', 'search', 'graphql_schema', 'graphql_query', 'graphql_mutate',
];
