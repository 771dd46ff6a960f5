import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { edgeActor, edgeDefinition } from '../../../../src/actors/edge/edge-actor.ts';
import { localServerId } from '../../../../src/places/local-place.ts';
import { ActorRuntime } from '../../../../src/actors/runtime/runtime.ts';
import { appSocketOf } from '../../../../src/protocol/panel-sockets.ts';
import type { EdgeRoute, Vacancy } from '../../../../src/protocol/workload.ts';
import type { AcmeAccountRecord, AppRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { plainSecrets } from '../../../support/plain-secrets.ts';
import { MemoryStore } from '../../../support/memory-store.ts';
import { ScriptedDriver } from '../../../support/scripted-driver.ts';
import { recordingLogger } from '../../../support/silent-logger.ts';

class UnwillingDriver extends ScriptedDriver {
  willing = false;

  override setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    return this.willing ? super.setRoutes(routes) : Promise.reject(new Error('not now'));
  }
}

function setUp(apps: Partial<AppRecord>[], driver = new ScriptedDriver()) {
  const store = new MemoryStore();
  const elsewhere = new ScriptedDriver();
  const clock = new ManualClock();
  const logger = recordingLogger();
  const base = {
    name: 'Shop',
    deletedAtMs: null,
    serverId: localServerId,
    uid: 0,
    liveDeploymentId: null,
    status: 'idle',
    run: { live: null },
  };
  store.write(apps.map((app) => put(tables.apps, { ...base, ...app } as unknown as AppRecord)));
  const runtime = new ActorRuntime({ store, clock, logger, carry: structuredClone });
  const panel: { route: EdgeRoute | null } = { route: null };
  runtime.register(
    edgeDefinition({
      acmeDirectory: 'https://ca.test',
      ...{ reader: store, clock, logger, secrets: plainSecrets },
      placeOf: (serverId) => ({ driver: serverId === localServerId ? driver : elsewhere }),
      hostOf: (slug) => `${slug}.test`,
      panelRoute: () => panel.route,
    }),
  );
  return { store, driver, elsewhere, clock, runtime, panel, edge: edgeActor.at(localServerId) };
}

const live = {
  liveDeploymentId: 'dpl',
  run: { live: { host: '::1', port: 4, workloadId: 'dpl-1' } },
} as unknown as Partial<AppRecord>;

describe('the edge actor', () => {
  it('tells the edge of another server what is there, and nothing of the panel', async () => {
    const { elsewhere, driver, runtime, panel } = setUp([
      { id: 'a', slug: 'a', ...live },
      { id: 'b', slug: 'b', serverId: 'srv_other', ...live },
    ]);
    panel.route = { host: 'panel.test', targets: [] };
    await runtime.ask(edgeActor.at('srv_other'), { type: 'sync' });
    assert.deepEqual(
      elsewhere.routes.map(({ host }) => host),
      ['b.test'],
    );
    assert.deepEqual(driver.routes, []);
  });

  it('builds the routes from the store, and changes one at a word of its app', async () => {
    const { driver, runtime, edge } = setUp([
      { id: 'a', slug: 'a', ...live },
      { id: 'b', slug: 'b' },
      { id: 'c', slug: 'c', deletedAtMs: 1 },
      { id: 'd', slug: 'd', serverId: 'srv_other', ...live },
    ]);
    await runtime.ask(edge, { type: 'sync' });
    assert.deepEqual(driver.routes, [
      {
        host: 'a.test',
        targets: [{ host: '::1', port: 4, workload: 'dpl-1' }],
        app: { id: 'a', name: 'Shop' },
      },
      { host: 'b.test', targets: [], vacancy: 'not_deployed', app: { id: 'b', name: 'Shop' } },
      // Of another server: by way of this one.
      {
        host: 'd.test',
        targets: [{ host: 'd', port: 0, socket: appSocketOf('d') }],
        app: { id: 'd', name: 'Shop' },
      },
    ]);
    const targets = [{ host: '127.0.0.1', port: 9 }];
    await runtime.ask(edge, { type: 'route', appId: 'b', routes: [{ host: 'b.test', targets }] });
    assert.deepEqual(driver.targets('b.test'), ['127.0.0.1:9']);
    await runtime.ask(edge, { type: 'route', appId: 'a', routes: [] });
    assert.equal(driver.targets('a.test'), undefined);
    await runtime.close();
  });

  it('leads the host of the panel to that, behind all else that would have it', async () => {
    const { driver, runtime, edge, panel, store } = setUp([{ id: 'a', slug: 'panel', ...live }]);
    const route = { host: 'panel.test', targets: [{ host: 'panel.test', port: 0, socket: 's' }] };
    panel.route = route;
    await runtime.ask(edge, { type: 'sync' });
    assert.deepEqual(
      driver.routes.map(({ host }) => host),
      ['panel.test', 'panel.test'],
    );
    assert.deepEqual(driver.routes.at(-1), route);
    const account = { id: 'https://ca.test', thumbprint: 'print' } as AcmeAccountRecord;
    store.write([put(tables.acmeAccounts, account)]);
    await runtime.ask(edge, { type: 'sync' });
    assert.deepEqual(driver.routes.at(-1), { ...route, acmeThumbprint: 'print' });
    panel.route = null;
    await runtime.ask(edge, { type: 'sync' });
    assert.equal(driver.routes.length, 1);
    await runtime.close();
  });

  it('sends changes of words a little later, many at once, and none for no change', async () => {
    const { driver, runtime, edge, clock } = setUp([{ id: 'a', slug: 'a' }]);
    await runtime.ask(edge, { type: 'sync' });
    const say = (appId: string, vacancy: Vacancy): Promise<boolean> => {
      const app = { id: appId, name: 'Shop' };
      const route = { host: `${appId}.test`, targets: [], vacancy, app };
      return runtime.ask(edge, { type: 'route', appId, routes: [route] });
    };
    await say('a', 'not_deployed');
    await clock.advance(1000);
    assert.equal(driver.routed.length, 1);
    await say('a', 'first_deployment');
    await say('b', 'not_deployed');
    assert.equal(driver.routed.length, 1);
    await clock.advance(200);
    assert.equal(driver.routed.length, 2);
    assert.deepEqual(
      driver.routes.map(({ vacancy }) => vacancy),
      ['first_deployment', 'not_deployed'],
    );
    await say('b', 'stopped');
    await clock.advance(200);
    assert.equal(driver.routed.length, 3);
    await runtime.close();
  });

  it('lets domains answer challenges of the authority that is asked for certificates', async () => {
    const hosts = [{ host: 'shop.example' }];
    const { driver, runtime, edge, store } = setUp([{ id: 'a', slug: 'a', hosts }]);
    const account = { url: null, key: new Uint8Array(), createdAtMs: 0 };
    store.write([
      put(tables.acmeAccounts, { ...account, id: 'https://ca.test', thumbprint: 'ours' }),
      put(tables.acmeAccounts, { ...account, id: 'https://old.test', thumbprint: 'old' }),
    ]);
    await runtime.ask(edge, { type: 'sync' });
    const thumbprints = driver.routes.map(({ acmeThumbprint }) => acmeThumbprint);
    assert.deepEqual(thumbprints, [undefined, 'ours']);
    await runtime.close();
  });

  it('leads every host of an app to it, and forgets those that are gone', async () => {
    const hosts = [{ host: 'shop.example' }, { host: '*.shop.example' }];
    const { driver, runtime, edge } = setUp([{ id: 'a', slug: 'a', hosts, ...live }]);
    await runtime.ask(edge, { type: 'sync' });
    for (const host of ['a.test', 'shop.example', '*.shop.example']) {
      assert.deepEqual(driver.targets(host), ['::1:4'], host);
    }
    const targets = [{ host: '::1', port: 4 }];
    const routes = ['a.test', '*.shop.example'].map((host) => ({ host, targets }));
    await runtime.ask(edge, { type: 'route', appId: 'a', routes });
    assert.deepEqual(
      driver.routes.map(({ host }) => host),
      ['a.test', '*.shop.example'],
    );
    await runtime.close();
  });

  it('tries again until the edge takes the routes', async () => {
    const unwilling = new UnwillingDriver();
    const { runtime, clock, edge } = setUp([{ id: 'a', slug: 'a', ...live }], unwilling);
    assert.equal(await runtime.ask(edge, { type: 'sync' }), false);
    await clock.advance(2000);
    assert.deepEqual(unwilling.routes, []);
    unwilling.willing = true;
    await clock.advance(2000);
    assert.deepEqual(unwilling.targets('a.test'), ['::1:4']);
    await runtime.close();
  });
});
