/** Owns what a client is told to ask for when it comes without a token. */

/** What the tools that only look need. */
export const readingScopes = ['view_logs', 'manage_env'] as const;

/** What all tools need together, so that one consent is enough; the person takes away what is too much. */
export const toolScopes = [
  'create_apps', 'deploy_apps', 'control_apps', 'delete_apps', 'manage_env', 'view_logs',
] as const; // prettier-ignore
