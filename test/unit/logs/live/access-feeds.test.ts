import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { AccessFeeds } from '../../../../src/logs/live/access-feeds.ts';
import { defaultEdgeSettings } from '../../../../src/protocol/app-edge-settings.ts';
import type { JournalEntry, Reader } from '../../../../src/store/reader-and-journal.ts';
import { localServerId } from '../../../../src/places/local-place.ts';
import type { AppRecord } from '../../../../src/store/records/records.ts';
import { settle } from '../../../support/manual-clock.ts';

const appOf = (id: string, accessLog: boolean): AppRecord =>
  ({ id, serverId: 'srv_here', edge: { ...defaultEdgeSettings, accessLog } }) as AppRecord;

describe('AccessFeeds', () => {
  let stored: AppRecord[];
  let fed: string[];
  let tell: (entry: JournalEntry) => void;
  let feeds: AccessFeeds;
  const follow = async (serverId: string): Promise<void> => {
    stored = [appOf('app_with', true), appOf('app_without', false), { id: 'app_old' } as AppRecord];
    fed = [];
    feeds = new AccessFeeds({
      place: {
        serverId,
        edge: { follow: () => Promise.resolve(), acknowledge: () => undefined },
      },
      streams: {
        feed: (log, _driver, id, signal, source) => {
          const one = [log, id, source].join(' ');
          fed.push(one);
          return new Promise((resolve) =>
            signal.addEventListener('abort', () => {
              fed = fed.filter((other) => other !== one);
              resolve();
            }),
          );
        },
      },
      store: {
        scan: (() => stored) as unknown as Reader['scan'],
        subscribe: (listener) => {
          tell = listener;
          return () => undefined;
        },
      },
    });
    await feeds.start();
  };
  beforeEach(() => follow('srv_here'));
  const fedFrom = (id: string, source = `access:${id}@srv_here`): string =>
    `app:${id} access:${id} ${source}`;
  const change = (value: AppRecord): void =>
    tell({
      changes: [{ op: 'put', table: 'apps', key: value.id, value }],
    } as unknown as JournalEntry);

  it('follows the access logs of apps that want one into their own logs', () => {
    assert.deepEqual(fed, [fedFrom('app_with')]);
  });

  it('follows those of apps of other servers at the edge of this machine, whose lines count as its own', async () => {
    await follow(localServerId);
    const here = fedFrom('app_with', 'access:app_with');
    assert.deepEqual(fed, [here]);
    change({ ...appOf('app_with', true), serverId: 'srv_other' });
    change({ ...appOf('app_there', true), serverId: 'srv_other' });
    await settle();
    assert.deepEqual(fed, [here, fedFrom('app_there', 'access:app_there')]);
  });

  it('begins when an app wants one, once, and goes on when it wants none any more', () => {
    change(appOf('app_without', true));
    change(appOf('app_without', true));
    change(appOf('app_without', false));
    assert.deepEqual(fed, [fedFrom('app_with'), fedFrom('app_without')]);
  });

  it('ends with the move of the app to another server, where it is not followed', async () => {
    change({ ...appOf('app_with', true), serverId: 'srv_other' });
    change({ ...appOf('app_there', true), serverId: 'srv_other' });
    await settle();
    assert.deepEqual(fed, []);
  });

  it('ends with the app, and with all', async () => {
    tell({
      changes: [{ op: 'delete', table: 'apps', key: 'app_with' }],
    } as unknown as JournalEntry);
    await settle();
    assert.deepEqual(fed, []);
    change(appOf('app_with', true));
    assert.equal(fed.length, 1);
    feeds.close();
    assert.equal(fed.length, 0);
  });
});
