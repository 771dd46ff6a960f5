import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { AccessFeeds } from '../../../../src/logs/live/access-feeds.ts';
import { defaultEdgeSettings } from '../../../../src/protocol/app-edge-settings.ts';
import type { JournalEntry, Reader } from '../../../../src/store/reader-and-journal.ts';
import type { AppRecord } from '../../../../src/store/records/records.ts';
import { settle } from '../../../support/manual-clock.ts';

const appOf = (id: string, accessLog: boolean): AppRecord =>
  ({ id, serverId: 'srv_here', edge: { ...defaultEdgeSettings, accessLog } }) as AppRecord;

describe('AccessFeeds', () => {
  let stored: AppRecord[];
  let fed: string[];
  let tell: (entry: JournalEntry) => void;
  let feeds: AccessFeeds;
  beforeEach(async () => {
    stored = [appOf('app_with', true), appOf('app_without', false), { id: 'app_old' } as AppRecord];
    fed = [];
    feeds = new AccessFeeds({
      place: {
        serverId: 'srv_here',
        edge: { follow: () => Promise.resolve(), acknowledge: () => undefined },
      },
      streams: {
        feed: (log, _driver, id, signal) => {
          const one = `${log} ${id}`;
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
  });
  const change = (value: AppRecord): void =>
    tell({
      changes: [{ op: 'put', table: 'apps', key: value.id, value }],
    } as unknown as JournalEntry);

  it('follows the access logs of apps that want one into their own logs', () => {
    assert.deepEqual(fed, ['app:app_with access:app_with']);
  });

  it('begins when an app wants one, once, and goes on when it wants none any more', () => {
    change(appOf('app_without', true));
    change(appOf('app_without', true));
    change(appOf('app_without', false));
    assert.deepEqual(fed, ['app:app_with access:app_with', 'app:app_without access:app_without']);
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
