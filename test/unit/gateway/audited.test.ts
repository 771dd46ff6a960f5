import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AuditedRequest } from '../../../src/auth/audit.ts';
import { auditedRoutes } from '../../../src/gateway/audited.ts';
import type { Exchange, Route } from '../../../src/gateway/transport.ts';

function actionsOf(route: Pick<Route, 'method' | 'path' | 'audit'>): (string | null)[] {
  const actions: (string | null)[] = [];
  const audit = {
    during: <T>(request: AuditedRequest, work: () => T | Promise<T>): Promise<T> => {
      actions.push(request.action, request.targetId ?? null);
      return Promise.resolve(work());
    },
  };
  let handled = 0;
  const [wrapped] = auditedRoutes(
    [
      {
        ...route,
        handle: () => {
          handled++;
        },
      },
    ],
    audit,
  );
  const exchange = { address: 'a', header: () => 'curl', param: () => 'app_1' };
  void wrapped?.handle(exchange as unknown as Exchange);
  assert.equal(handled, 1);
  return actions;
}

describe('auditedRoutes()', () => {
  it('records a change under the name of its route, with what it is about', () => {
    const path = '/api/apps/:id/upload';
    assert.deepEqual(actionsOf({ method: 'POST', path, audit: 'upload' }), ['upload', 'app_1']);
    assert.deepEqual(actionsOf({ method: 'POST', path: '/login', audit: 'login' }), [
      'login',
      null,
    ]);
  });

  it('records a change that says nothing by its method and path', () => {
    assert.deepEqual(actionsOf({ method: 'DELETE', path: '/new' }), ['DELETE /new', null]);
  });

  it('records no reading, and no route that declines', () => {
    assert.deepEqual(actionsOf({ method: 'GET', path: '/page' }), []);
    assert.deepEqual(actionsOf({ method: 'OPTIONS', path: '/page' }), []);
    assert.deepEqual(actionsOf({ method: 'POST', path: '/api/graphql', audit: null }), []);
  });
});
