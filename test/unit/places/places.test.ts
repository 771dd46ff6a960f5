import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { localServerId } from '../../../src/places/local-place.ts';
import type { Place } from '../../../src/places/place.ts';
import { Places } from '../../../src/places/places.ts';
import { unreachedPlace } from '../../../src/places/unreached-place.ts';
import type { ServerRecord } from '../../../src/store/records/records.ts';
import { put, remove } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { MemoryStore } from '../../support/memory-store.ts';

const server = (id: string, more: Partial<ServerRecord> = {}) =>
  put(tables.servers, { id, name: id, agent: {}, ...more } as ServerRecord);

function make() {
  const store = new MemoryStore();
  const closed: string[] = [];
  const placeAt = (serverId: string): Place => {
    const place = unreachedPlace(serverId);
    const close = (): Promise<void> => {
      closed.push(serverId);
      return Promise.resolve();
    };
    return { ...place, driver: { ...place.driver, close } };
  };
  const places = new Places({ here: unreachedPlace(localServerId), placeAt, store });
  const followed: string[] = [];
  const follow = () =>
    places.each(({ serverId }) => {
      followed.push(serverId);
      return () => void followed.push(`no ${serverId}`);
    });
  const commit = (...changes: Parameters<MemoryStore['write']>[0]) =>
    store.commit({ actor: 'a', epoch: store.nextEpoch('a'), changes: [...changes] });
  return { store, places, followed, follow, closed, commit };
}

describe('Places', () => {
  it('are this machine and the servers that somebody added, as they come and go', async () => {
    const { store, places, followed, follow, closed, commit } = make();
    store.write([server('srv_one'), { ...server('srv_node', { agent: undefined as never }) }]);
    places.start();
    const end = follow();
    assert.deepEqual(followed.splice(0), [localServerId, 'srv_one']);
    await commit(server('srv_two'));
    await commit(server('srv_two', { connected: true }));
    assert.deepEqual(followed.splice(0), ['srv_two']);
    await commit(remove(tables.servers, 'srv_one'));
    assert.deepEqual(followed.splice(0), ['no srv_one']);
    assert.deepEqual(closed, ['srv_one']);
    assert.deepEqual(
      places.all().map(({ serverId }) => serverId),
      [localServerId, 'srv_two'],
    );
    end();
    assert.deepEqual(followed.splice(0), [`no ${localServerId}`, 'no srv_two']);
    await commit(server('srv_three'));
    assert.deepEqual(followed, []);
    await places.close();
    await commit(server('srv_four'));
    assert.ok(!places.all().some(({ serverId }) => serverId === 'srv_four'));
  });

  it('are the same for the same server, also where it is not known', () => {
    const { places } = make();
    assert.equal(places.of('srv_gone'), places.of('srv_gone'));
    assert.equal(places.of(localServerId), places.here);
  });
});
