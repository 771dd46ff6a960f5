import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  areSameButForWords,
  areSameRoutes,
  routesOf,
} from '../../../../src/actors/edge/app-route.ts';
import { defaultEdgeSettings } from '../../../../src/protocol/app-edge-settings.ts';
import type { AppRecord } from '../../../../src/store/records/records.ts';

const live = { host: '::1', port: 4, workloadId: 'dpl-1' };
const target = { host: '::1', port: 4, workload: 'dpl-1' };
const stopped = { liveDeploymentId: 'dpl', desired: 'stopped', status: 'stopped' };
const lost = { liveDeploymentId: 'dpl', desired: 'running', status: 'error' };

function allRouted(patch: object, run: object = {}) {
  const app = {
    id: 'app_1',
    name: 'Shop',
    slug: 'a',
    deletedAtMs: null,
    liveDeploymentId: null,
    desired: 'stopped',
    status: 'idle',
    ...patch,
    run: { live: null, next: null, crashing: false, ...run },
  } as unknown as AppRecord;
  return routesOf(app, (slug) => `${slug}.test`);
}

function routed(patch: object, run: object = {}) {
  return allRouted(patch, run)[0];
}

describe('routesOf()', () => {
  const vacancies: [string, string | undefined, object, object?][] = [
    ['an app that was never deployed', 'not_deployed', {}],
    ['a first deployment that waits', 'first_deployment', { status: 'queued' }],
    ['a first deployment under way', 'first_deployment', { status: 'building' }],
    ['a first deployment that failed', 'first_deployment_failed', { status: 'error' }],
    ['a stopped app', 'stopped', stopped],
    ['a stopped app that is deployed', 'starting', { ...stopped, status: 'building' }],
    ['an app that starts', 'starting', { ...lost, status: 'building' }],
    ['one that ended and waits for its next try', 'ended', lost, { crashing: true }],
    ['one that does not start', undefined, lost],
    ['one that runs', undefined, { ...lost, status: 'active' }, { live }],
    ['one that is started again where it is', 'ended', lost, { live, crashing: true }],
  ];
  for (const [what, vacancy, patch, run] of vacancies) {
    it(`tells of ${what}: ${vacancy ?? 'nothing'}`, () => {
      assert.equal(routed(patch, run)?.vacancy, vacancy);
    });
  }

  it('leads to the live instance, at the port it listens on', () => {
    assert.deepEqual(routed(lost, { live })?.targets, [target]);
    const elsewhere = { live: { ...live, targetPort: 9 } };
    assert.deepEqual(routed(lost, elsewhere)?.targets, [{ ...target, port: 9 }]);
  });

  it('names the app, and carries what it wants of the edge', () => {
    assert.deepEqual(routed(lost)?.app, { id: 'app_1', name: 'Shop' });
    assert.ok(!('settings' in (routed(lost) ?? {})));
    const edge = { ...defaultEdgeSettings, maintenance: true };
    assert.deepEqual(routed({ ...lost, edge })?.settings, edge);
  });

  it('leads its domains where its own host leads, or elsewhere', () => {
    const hosts = [
      { host: 'a.example', isActive: true },
      { host: 'b.example', redirectTo: 'a.example' },
    ];
    const [own, first, second] = allRouted({ ...lost, hosts }, { live });
    assert.deepEqual(first, { ...own, host: 'a.example' });
    assert.deepEqual(second, { ...own, host: 'b.example', redirectTo: 'a.example' });
  });

  it('are none for an app in trash', () => {
    const hosts = [{ host: 'a.example' }];
    assert.deepEqual(allRouted({ ...stopped, hosts, deletedAtMs: 1 }), []);
  });
});

describe('areSameRoutes()', () => {
  const same = (a: object[], b: object[]): boolean =>
    areSameRoutes(allRouted(a[0] ?? {}, a[1]), allRouted(b[0] ?? {}, b[1]));

  it('tells routes apart by where they lead and by what they say', () => {
    assert.ok(same([stopped], [stopped]));
    assert.ok(areSameRoutes([], []));
    assert.ok(!areSameRoutes([], allRouted(stopped)));
    assert.ok(!same([{}], [stopped]));
    assert.ok(!same([lost, { live }], [lost]));
    assert.ok(!same([{}], [{ edge: defaultEdgeSettings }]));
    assert.ok(!same([{}], [{ hosts: [{ host: 'a.example' }] }]));
  });
});

describe('areSameButForWords()', () => {
  const same = (one: object, other: object): boolean =>
    areSameButForWords(allRouted(one), allRouted(other));

  it('holds for another reason and another name alone', () => {
    assert.ok(same({ name: 'Store' }, stopped));
    assert.ok(!same({}, { edge: { ...defaultEdgeSettings, totalSeconds: 1 } }));
    assert.ok(!same({}, { slug: 'b' }));
    assert.ok(!same({}, { hosts: [{ host: 'a.example' }] }));
  });
});
