import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { ServiceError } from '../../../../src/lib/errors.ts';
import { localPlace } from '../../../../src/places/local-place.ts';
import type { Machine, Place } from '../../../../src/places/place.ts';
import { unreachedPlace } from '../../../../src/places/unreached-place.ts';
import type {
  CertificateRecord,
  DomainRecord,
  MoveRecord,
  ServerRecord,
} from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { appFixture } from '../../../support/app-fixture.ts';
import { eventually } from '../../../support/eventually.ts';
import { testMachine } from '../../../support/machine.ts';
import { ScriptedDriver } from '../../../support/scripted-driver.ts';

describe('an app that was moved here', () => {
  it('is changed while its files are removed from the server that it left', async () => {
    const removal = Promise.withResolvers<undefined>();
    let asked = 0;
    const left = unreachedPlace('srv_left');
    const slow: Place = {
      ...left,
      machine: async () => {
        const machine = await left.machine();
        const remove = (): Promise<void> => {
          asked++;
          return removal.promise;
        };
        return { ...machine, app: (owner) => ({ ...machine.app(owner), remove }) };
      },
    };
    const f = await appFixture({ placeAt: (id) => (id === 'srv_left' ? slow : undefined) });
    after(() => f.close());
    const { id } = await f.uploaded();
    const move: MoveRecord = {
      ...{ fromServerId: 'srv_left', toServerId: 'srv_local', fromUid: 0, toUid: 0 },
      ...{ phase: 'done', bytes: 0, error: null, hasLeftover: true, startedAtMs: 1, endedAtMs: 2 },
    };
    f.store.write([put(tables.apps, { ...f.app(id), move })]);
    await f.crash();
    const tidied = f.ask(id, { type: 'move-tidy' });
    await eventually('the removal is under way', () => asked > 0);
    await f.ask(id, { type: 'update', patch: { name: 'Shop' } });
    assert.equal(f.app(id).name, 'Shop');
    await tidied;
    removal.resolve(undefined);
    await eventually('it is known', () => f.app(id).move?.hasLeftover === false);
    assert.equal(asked, 1);
  });

  it('is purged only with what it left on a server that was away', async () => {
    const left = unreachedPlace('srv_left');
    let isAway = true;
    const removed: (number | null)[] = [];
    const returning: Place = {
      ...left,
      machine: async () => {
        if (isAway) throw new ServiceError('AGENT_UNREACHABLE', 'It is away.');
        const machine = await left.machine();
        const remove = (uid: number | null): Promise<void> => {
          removed.push(uid);
          return Promise.resolve();
        };
        const app: Machine['app'] = (owner) => ({
          ...machine.app(owner),
          remove: () => remove(owner.uid),
        });
        return { ...machine, app };
      },
    };
    const f = await appFixture({ placeAt: (id) => (id === 'srv_left' ? returning : undefined) });
    after(() => f.close());
    const { id } = await f.uploaded();
    const move: MoveRecord = {
      ...{ fromServerId: 'srv_left', toServerId: 'srv_local', fromUid: 7, toUid: 0 },
      ...{ phase: 'done', bytes: 0, error: null, hasLeftover: true, startedAtMs: 1, endedAtMs: 2 },
    };
    f.store.write([put(tables.apps, { ...f.app(id), move })]);
    await f.crash();
    await f.ask(id, { type: 'delete' });
    await assert.rejects(f.ask(id, { type: 'purge' }), { code: 'AGENT_UNREACHABLE' });
    assert.equal(f.app(id).move?.hasLeftover, true);
    isAway = false;
    await f.ask(id, { type: 'purge' });
    assert.deepEqual(removed, [7]);
    assert.equal(f.store.get(tables.apps, id), undefined);
  });
});

describe('an app that is moved', () => {
  it('takes the certificates of its domains along', async () => {
    const there = new ScriptedDriver();
    const folder = await mkdtemp(join(tmpdir(), 'gangway-there-'));
    const place: Place = {
      ...localPlace(there, testMachine(folder)),
      serverId: 'srv_there',
    };
    const f = await appFixture({ placeAt: (id) => (id === 'srv_there' ? place : undefined) });
    after(async () => {
      await f.close();
      await rm(folder, { recursive: true, force: true });
    });
    const { id } = await f.create();
    const domain = { id: 'dom', appId: id, host: 'shop.example', teamId: 'team_1' };
    const certificate: CertificateRecord = {
      ...{ id: 'crt', names: [domain.host], chain: 'chain', key: Buffer.from('key') },
      ...{ issuer: 'us', notBeforeMs: 0, notAfterMs: 1, managed: false },
    };
    f.store.write([
      put(tables.servers, { id: 'srv_there', agent: {} } as ServerRecord),
      put(tables.domains, { ...domain, certificateId: 'crt', verifiedAtMs: 1 } as DomainRecord),
      put(tables.certificates, certificate),
    ]);
    const served = (): string[] => there.certificates.flatMap(({ names }) => names);
    const move = async (serverId: string): Promise<void> => {
      await f.ask(id, { type: 'move', serverId });
      await eventually('it is moved', () => {
        const { phase, hasLeftover } = f.app(id).move ?? {};
        return phase === 'done' && hasLeftover === false;
      });
      assert.equal(f.app(id).serverId, serverId);
    };
    await move('srv_there');
    await eventually('they are there', () => served().includes(domain.host));
    await move('srv_local');
    await eventually('they are there no more', () => served().length === 0);
  });
});
