import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';

import type { Place } from '../../../../src/places/place.ts';
import { unreachedPlace } from '../../../../src/places/unreached-place.ts';
import type { MoveRecord } from '../../../../src/store/records/records.ts';
import { put } from '../../../../src/store/records/table.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { appFixture } from '../../../support/app-fixture.ts';
import { eventually } from '../../../support/eventually.ts';

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
});
