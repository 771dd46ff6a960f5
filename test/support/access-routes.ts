/** What every route asks of its caller, as `access-table.ts` declares it of every field. */
import type { Ask, Need, Subject } from './access-table.ts';

export interface RouteLine {
  route: string;
  /** `cookie` and `bearer` take the one and refuse the other. */
  takes: 'anything' | 'cookie' | 'bearer';
  need: Need;
  on: Subject;
  path: (ask: Ask) => string;
  headers?: Record<string, string>;
  body?: string;
  /** Status of an allowed call, or those it may have; default 200. */
  past?: number | readonly number[];
  /** The code of an allowed call, where others have its status. */
  code?: string;
  /** What a token gets, whatever it holds. */
  tokens?: string;
}

const json = { 'content-type': 'application/json' };

/** Documents for OAuth clients, which ask for them from any origin. */
const discovery = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-authorization-server/api/auth',
  '/.well-known/openid-configuration',
  '/.well-known/openid-configuration/api/auth',
  '/api/auth/.well-known/openid-configuration',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/api/mcp',
];
const crossOrigin = ['register', 'token', 'revoke', 'introspect', 'userinfo'].map(
  (name) => `/api/auth/oauth2/${name}`,
);
const form = { 'content-type': 'application/x-www-form-urlencoded' };

// prettier-ignore
export const routes: readonly RouteLine[] = [
  { route: 'GET /api/health', takes: 'anything', need: 'anybody', on: 'none', path: () => '/api/health' },
  { route: 'GET /api/avatar/:style/:preset/:seed', takes: 'anything', need: 'anybody', on: 'none', path: () => '/api/avatar/rings/default/ann' },
  { route: 'GET /api/database-versions', takes: 'anything', need: 'signedIn', on: 'none', path: () => '/api/database-versions?engine=postgres' },
  { route: 'GET /api/node-versions', takes: 'anything', need: 'signedIn', on: 'none', path: () => '/api/node-versions' },
  { route: 'GET /api/build-tool-versions', takes: 'anything', need: 'signedIn', on: 'none', path: () => '/api/build-tool-versions' },
  { route: 'GET /api/registry/images', takes: 'anything', need: 'signedIn', on: 'none', path: () => '/api/registry/images?action=search&q=redis' },
  { route: 'GET /metrics', takes: 'anything', need: 'admin', on: 'none', path: () => '/metrics' },
  { route: 'POST /api/apps/:id/deploy-hook/:token', takes: 'bearer', need: 'deploy_apps', on: 'thing', past: 409, path: ({ things }) => things.hookPath },
  { route: 'GET /git/:app/info/refs', takes: 'bearer', need: 'deploy_apps', on: 'thing', past: 409, path: ({ things }) => `/git/${things.appId}.git/info/refs?service=git-receive-pack` },
  { route: 'POST /git/:app/git-receive-pack', takes: 'bearer', need: 'deploy_apps', on: 'thing', past: 415, headers: json, body: '{}', path: ({ things }) => `/git/${things.appId}.git/git-receive-pack` },
  { route: 'POST /api/git/webhook/:token', takes: 'anything', need: 'anybody', on: 'none', past: 404, path: () => '/api/git/webhook/none' },
  { route: 'POST /api/github/webhook', takes: 'anything', need: 'anybody', on: 'none', past: 202, headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }, path: () => '/api/github/webhook' },
  // An API token is no bootstrap token.
  { route: 'POST /api/agent/bootstrap', takes: 'anything', need: 'anybody', on: 'none', past: [401, 429], path: () => '/api/agent/bootstrap' },
  ...['GET', 'POST'].map((method): RouteLine => ({ route: `${method} /api/takeover`, takes: 'anything', need: 'anybody', on: 'none', past: [401, 429], path: () => '/api/takeover' })),
  ...['install.sh', 'takeover.sh', 'program'].map((name): RouteLine => ({ route: `GET /api/agent/${name}`, takes: 'anything', need: 'anybody', on: 'none', path: () => `/api/agent/${name}` })),
  { route: 'POST /api/apps/:id/upload', takes: 'cookie', need: 'deploy_apps', on: 'thing', past: 400, headers: { 'x-upload-filename': 'empty.zip' }, path: ({ things }) => `/api/apps/${things.appId}/upload` },
  { route: 'GET /api/apps/:id/source', takes: 'cookie', need: 'configure_apps', on: 'thing', past: 404, code: 'NO_UPLOAD', path: ({ things }) => `/api/apps/${things.appId}/source` },
  { route: 'POST /api/backups/restore-upload', takes: 'cookie', need: 'restore_backups', on: 'thing', past: 415, path: ({ things }) => `/api/backups/restore-upload?app=${things.appId}` },
  { route: 'GET /api/backups/:runId/download', takes: 'cookie', need: 'restore_backups', on: 'thing', path: ({ things }) => `/api/backups/${things.backupRunId}/download` },
  { route: 'GET /api/apps/:id/logs', takes: 'cookie', need: 'view_logs', on: 'thing', path: ({ things }) => `/api/apps/${things.appId}/logs` },
  { route: 'DELETE /api/apps/:id/logs', takes: 'cookie', need: 'signedIn', on: 'none', past: 204, path: ({ things }) => `/api/apps/${things.appId}/logs?sessionId=str_none` },
  { route: 'GET /api/databases/:id/logs', takes: 'cookie', need: 'view_logs', on: 'thing', path: ({ things }) => `/api/databases/${things.databaseId}/logs` },
  { route: 'DELETE /api/databases/:id/logs', takes: 'cookie', need: 'signedIn', on: 'none', past: 204, path: () => '/api/databases/db_none/logs?sessionId=str_none' },
  { route: 'GET /api/apps/:id/attach', takes: 'cookie', need: 'open_app_console', on: 'thing', past: 409, path: ({ things }) => `/api/apps/${things.appId}/attach` },
  { route: 'POST /api/apps/:id/attach', takes: 'cookie', need: 'signedIn', on: 'none', past: 404, headers: json, body: '{"sessionId":"str_none","data":""}', path: () => '/api/apps/app_none/attach' },
  { route: 'DELETE /api/apps/:id/attach', takes: 'cookie', need: 'signedIn', on: 'none', past: 204, path: () => '/api/apps/app_none/attach?sessionId=str_none' },
  { route: 'GET /api/databases/:id/attach', takes: 'cookie', need: 'open_database_console', on: 'thing', past: 409, path: ({ things }) => `/api/databases/${things.databaseId}/attach` },
  { route: 'POST /api/databases/:id/attach', takes: 'cookie', need: 'signedIn', on: 'none', past: 404, headers: json, body: '{"sessionId":"str_none","data":""}', path: () => '/api/databases/db_none/attach' },
  { route: 'DELETE /api/databases/:id/attach', takes: 'cookie', need: 'signedIn', on: 'none', past: 204, path: () => '/api/databases/db_none/attach?sessionId=str_none' },
  { route: 'POST /api/graphql', takes: 'anything', need: 'anybody', on: 'none', headers: { 'content-type': 'application/json' }, body: '{"query":"{ needsSetup }"}', path: () => '/api/graphql' },
  { route: 'GET /api/graphql', takes: 'anything', need: 'anybody', on: 'none', headers: { accept: 'text/html' }, path: () => '/api/graphql' },
  { route: 'GET /api/graphql/assets/:file', takes: 'anything', need: 'anybody', on: 'none', past: 404, path: () => '/api/graphql/assets/none.js' },
  { route: 'GET /', takes: 'anything', need: 'anybody', on: 'none', past: [200, 303], tokens: '403 FORBIDDEN', path: () => '/' },
  { route: 'GET /*', takes: 'anything', need: 'anybody', on: 'none', past: 404, path: () => '/none' },
  { route: 'GET /assets/:file', takes: 'anything', need: 'anybody', on: 'none', past: 404, path: () => '/assets/none.js' },
  { route: 'GET /login', takes: 'anything', need: 'anybody', on: 'none', past: [200, 303], path: () => '/login' },
  { route: 'POST /login', takes: 'anything', need: 'anybody', on: 'none', past: [400, 401, 429], headers: form, body: 'email=none', path: () => '/login' },
  { route: 'POST /logout', takes: 'anything', need: 'anybody', on: 'none', past: 403, headers: { 'sec-fetch-site': 'cross-site' }, path: () => '/logout' },
  { route: 'GET /login/two-factor', takes: 'anything', need: 'anybody', on: 'none', past: 303, path: () => '/login/two-factor' },
  { route: 'POST /login/two-factor', takes: 'anything', need: 'anybody', on: 'none', past: 401, headers: form, body: 'code=000000', path: () => '/login/two-factor' },
  { route: 'GET /account/two-factor', takes: 'anything', need: 'anybody', on: 'none', past: [200, 303], tokens: '403 FORBIDDEN', path: () => '/account/two-factor' },
  { route: 'POST /account/two-factor', takes: 'cookie', need: 'signedIn', on: 'none', past: 403, headers: form, body: 'password=wrong', path: () => '/account/two-factor' },
  { route: 'POST /account/two-factor/confirm', takes: 'cookie', need: 'signedIn', on: 'none', past: 409, headers: form, body: 'code=000000', path: () => '/account/two-factor/confirm' },
  { route: 'GET /setup', takes: 'anything', need: 'anybody', on: 'none', past: 303, path: () => '/setup' },
  { route: 'POST /setup', takes: 'anything', need: 'anybody', on: 'none', past: 409, headers: form, body: 'name=a', path: () => '/setup' },
  { route: 'GET /reset/:token', takes: 'anything', need: 'anybody', on: 'none', past: 404, path: () => '/reset/none' },
  { route: 'POST /reset/:token', takes: 'anything', need: 'anybody', on: 'none', past: 404, headers: form, body: 'password=a', path: () => '/reset/none' },
  { route: 'GET /invite/:token', takes: 'anything', need: 'anybody', on: 'none', past: 404, tokens: '403 FORBIDDEN', path: () => '/invite/none' },
  { route: 'POST /invite/:token', takes: 'anything', need: 'anybody', on: 'none', past: 404, tokens: '403 FORBIDDEN', headers: form, body: 'name=a', path: () => '/invite/none' },
  // Whether MCP is on in the team, and the owner's own right to it, is tested where MCP is.
  { route: 'POST /api/mcp', takes: 'bearer', need: 'signedIn', on: 'none', past: [200, 403], headers: json, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', path: () => '/api/mcp' },
  { route: 'OPTIONS /api/mcp', takes: 'anything', need: 'anybody', on: 'none', past: 204, path: () => '/api/mcp' },
  { route: 'GET /connect', takes: 'anything', need: 'anybody', on: 'none', past: [200, 303], tokens: '403 FORBIDDEN', path: () => '/connect' },
  { route: 'POST /connect', takes: 'cookie', need: 'manage_team', on: 'team', past: 303, headers: form, body: 'enabled=true', path: ({ place }) => `/connect?team=${place.teamId}` },
  { route: 'GET /connect/assets/:file', takes: 'anything', need: 'anybody', on: 'none', past: 404, path: () => '/connect/assets/none.js' },
  { route: 'GET /api/github/callback', takes: 'anything', need: 'anybody', on: 'none', past: [400, 401], tokens: '403 FORBIDDEN', path: () => '/api/github/callback?code=none&state=none' },
  { route: 'GET /api/github/setup', takes: 'anything', need: 'anybody', on: 'none', past: [303, 404], tokens: '403 FORBIDDEN', path: () => '/api/github/setup?installation_id=1' },
  { route: 'GET /console', takes: 'anything', need: 'anybody', on: 'none', past: [200, 303], tokens: '403 FORBIDDEN', path: () => '/console' },
  { route: 'GET /console/assets/:file', takes: 'anything', need: 'anybody', on: 'none', past: 404, path: () => '/console/assets/none.js' },
  // The OAuth provider: what is sent here is of no use, and nobody is told more than that.
  ...discovery.map((path): RouteLine => ({ route: `GET ${path}`, takes: 'anything', need: 'anybody', on: 'none', path: () => path })),
  { route: 'GET /api/auth/oauth2/authorize', takes: 'anything', need: 'anybody', on: 'none', past: 400, path: () => '/api/auth/oauth2/authorize' },
  { route: 'GET /api/auth/oauth2/consent', takes: 'anything', need: 'anybody', on: 'none', past: [303, 400], path: () => '/api/auth/oauth2/consent' },
  { route: 'POST /api/auth/oauth2/consent', takes: 'cookie', need: 'signedIn', on: 'none', past: 400, headers: form, body: 'a=b', path: () => '/api/auth/oauth2/consent' },
  { route: 'POST /api/auth/oauth2/register', takes: 'anything', need: 'anybody', on: 'none', past: [400, 429], headers: json, body: '{}', path: () => '/api/auth/oauth2/register' },
  { route: 'POST /api/auth/oauth2/token', takes: 'anything', need: 'anybody', on: 'none', past: [400, 401], headers: form, body: 'grant_type=none', path: () => '/api/auth/oauth2/token' },
  { route: 'POST /api/auth/oauth2/revoke', takes: 'anything', need: 'anybody', on: 'none', past: [400, 401], headers: form, body: 'token=none', path: () => '/api/auth/oauth2/revoke' },
  { route: 'POST /api/auth/oauth2/introspect', takes: 'anything', need: 'anybody', on: 'none', past: [400, 401], headers: form, body: 'token=none', path: () => '/api/auth/oauth2/introspect' },
  ...['GET', 'POST'].map((method): RouteLine => ({ route: `${method} /api/auth/oauth2/userinfo`, takes: 'anything', need: 'anybody', on: 'none', past: 401, path: () => '/api/auth/oauth2/userinfo' })),
  ...[...discovery, ...crossOrigin].map((path): RouteLine => ({ route: `OPTIONS ${path}`, takes: 'anything', need: 'anybody', on: 'none', past: 204, path: () => path })),
];
