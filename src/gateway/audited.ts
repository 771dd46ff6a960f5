/**
 * Owns that what transports change is recorded: their routes are wrapped where they are put
 * together, so that a new one is recorded without anybody thinking of it. GraphQL does this for
 * itself, by mutation.
 */
import type { AuditedRequest } from '../auth/audit.ts';
import { anonymous } from '../auth/callers/principal.ts';
import type { Exchange, Route } from './transport.ts';

export interface RequestAudit {
  during<T>(request: AuditedRequest, work: () => T | Promise<T>): Promise<T>;
}

const reading: ReadonlySet<string> = new Set(['GET', 'OPTIONS']);

// Where a page or a hook does what a mutation does too, they go by one name.
const actions: Readonly<Record<string, string>> = {
  'POST /api/apps/:id/deploy-hook/:token': 'deploy_hook',
  'POST /api/apps/:id/upload': 'upload',
  'POST /login': 'login',
  'POST /login/two-factor': 'verifyTwoFactorLogin',
  'POST /account/two-factor': 'startTwoFactorEnrolment',
  'POST /account/two-factor/confirm': 'confirmTwoFactorEnrolment',
  'POST /reset/:token': 'resetPassword',
  'POST /invite/:token': 'acceptInvite',
  'POST /api/auth/oauth2/consent': 'oauth_consent',
  'POST /api/auth/oauth2/revoke': 'oauth_revoke',
  'POST /logout': 'logout',
  'POST /setup': 'completeSetup',
  'POST /connect': 'setMcpSettings',
};

/** GraphQL records by mutation, consoles their opening and their end. Clients register for no team, and renew what a consent began. */
const passed =
  /^\/api\/(graphql|mcp)$|^\/api\/(apps|databases)\/:id\/attach$|^\/api\/auth\/oauth2\/(register|token|introspect|userinfo)$/;

export function auditedRoutes(routes: readonly Route[], audit: RequestAudit): Route[] {
  return routes.map((route) => (isAudited(route) ? audited(route, audit) : route));
}

function isAudited({ method, path }: Route): boolean {
  return !reading.has(method) && !passed.test(path);
}

function audited(route: Route, audit: RequestAudit): Route {
  const name = `${route.method} ${route.path}`;
  const action = actions[name] ?? name;
  const named = route.path.split('/').includes(':id');
  return {
    ...route,
    handle: (exchange) =>
      audit.during(requestOf(exchange, action, named), () => route.handle(exchange)),
  };
}

function requestOf(exchange: Exchange, action: string, named: boolean): AuditedRequest {
  return {
    action,
    // Who it is turns out when the route asks for it.
    principal: anonymous,
    address: exchange.address,
    userAgent: exchange.header('user-agent'),
    targetId: named ? exchange.param('id') : null,
  };
}
