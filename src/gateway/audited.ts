/**
 * Owns the recording of what transports change. Their routes are wrapped in one place, so a new route is
 * recorded unless it opts out (`Route.audit`).
 */
import type { AuditedRequest } from '../auth/audit.ts';
import { anonymous } from '../auth/callers/principal.ts';
import type { Route } from './transport.ts';

export interface RequestAudit {
  during<T>(request: AuditedRequest, work: () => T | Promise<T>): Promise<T>;
}

export function auditedRoutes(routes: readonly Route[], audit: RequestAudit): Route[] {
  return routes.map((route) => {
    const action = actionOf(route);
    return action === null ? route : audited(route, action, audit);
  });
}

function actionOf({ method, path, audit }: Route): string | null {
  if (audit !== undefined) return audit;
  return method === 'GET' || method === 'OPTIONS' ? null : `${method} ${path}`;
}

function audited(route: Route, action: string, audit: RequestAudit): Route {
  const hasTarget = route.path.split('/').includes(':id');
  return {
    ...route,
    handle: (exchange) => {
      const request: AuditedRequest = {
        action,
        // The caller becomes known when the route asks for it; then `Audit.identify` adds it.
        principal: anonymous,
        address: exchange.address,
        userAgent: exchange.header('user-agent'),
        targetId: hasTarget ? exchange.param('id') : null,
      };
      return audit.during(request, () => route.handle(exchange));
    },
  };
}
