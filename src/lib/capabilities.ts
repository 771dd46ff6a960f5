/** Owns the list of capabilities, in the order of the GraphQL contract. */

// prettier-ignore
export const capabilities = [
  'create_apps', 'configure_apps', 'deploy_apps', 'control_apps', 'delete_apps', 'open_app_console',
  'manage_env', 'reveal_secrets', 'manage_folders',
  'create_databases', 'configure_databases', 'control_databases', 'delete_databases',
  'open_database_console',
  'manage_backups', 'restore_backups', 'manage_backup_destinations',
  'manage_git', 'manage_registries', 'manage_tokens', 'manage_mcp',
  'manage_members', 'manage_roles', 'manage_team',
  'view_logs', 'view_metrics', 'view_activity',
] as const;

export type Capability = (typeof capabilities)[number];

/** Each once, in this order. */
export function inOrder(given: readonly Capability[]): Capability[] {
  return capabilities.filter((capability) => given.includes(capability));
}
