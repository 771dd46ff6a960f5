import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { StoredTraffic } from '../../../../src/programs/runner/edge/stored-traffic.ts';
import {
  trafficAt,
  trafficByApp,
  trafficNumbers,
  type TrafficReport,
} from '../../../../src/protocol/traffic.ts';
import { noLog } from '../../../support/runner.ts';

describe('StoredTraffic', () => {
  let dir: string;
  let stored: StoredTraffic;
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-traffic-'));
    stored = new StoredTraffic(dir, noLog);
  });
  afterEach(() => {
    stored.close();
    fs.rmSync(dir, { recursive: true });
  });
  const reopen = (): void => {
    stored.close();
    stored = new StoredTraffic(dir, noLog);
  };
  const report = (app: string, requests: number, more: Partial<TrafficReport> = {}) => ({
    ...{ app, life: 1, sockets: 0 },
    counts: Array.from({ length: trafficNumbers }, (_, at) => (at === 0 ? requests : 0)),
    ...more,
  });
  const hear = (process: object, ...reports: unknown[]): void =>
    stored.hear(process, reports, (app) => app.startsWith('app_'));
  const known = (): Record<string, number> =>
    Object.fromEntries(
      [...trafficByApp(stored.all())].map(([app, { counts }]) => [app, counts[0] ?? 0]),
    );
  const [one, other] = [{}, {}];

  it('adds what is new of each process, whatever is heard again or missed', () => {
    hear(one, report('app_a', 3));
    hear(one, report('app_a', 3));
    hear(one, report('app_a', 10), report('app_b', 1));
    hear(other, report('app_a', 5));
    assert.deepEqual(known(), { app_a: 15, app_b: 1 });
  });

  it('never goes back: a new process, or new counts of the same, begin at zero', () => {
    hear(one, report('app_a', 10));
    stored.ended(one);
    hear(other, report('app_a', 2));
    assert.deepEqual(known(), { app_a: 12 });
    hear(other, report('app_a', 4, { life: 2 }));
    assert.deepEqual(known(), { app_a: 16 });
    hear(other, report('app_a', 1, { life: 2 }));
    assert.deepEqual(known(), { app_a: 16 });
  });

  it('has all of it in its file', () => {
    const counts = Array.from({ length: trafficNumbers }, (_, at) => at + 0.5);
    hear(one, report('app_a', 0, { counts }), report('app_b', 7));
    reopen();
    const found = trafficByApp(stored.all());
    assert.deepEqual([...(found.get('app_a')?.counts ?? [])], counts);
    hear({}, report('app_b', 1));
    assert.equal(known()['app_b'], 8);
  });

  it('counts WebSockets of the processes that live', () => {
    hear(one, report('app_a', 0, { sockets: 3 }));
    hear(other, report('app_a', 0, { sockets: 4 }));
    assert.equal(trafficByApp(stored.all()).get('app_a')?.sockets, 7);
    stored.ended(one);
    assert.equal(trafficByApp(stored.all()).get('app_a')?.sockets, 4);
  });

  it('forgets an app, and gives its room to another', () => {
    hear(one, report('app_a', 1), report('app_b', 2));
    stored.forget('app_a');
    stored.forget('app_a');
    reopen();
    assert.deepEqual(known(), { app_b: 2 });
    hear(one, report('app_c', 3));
    reopen();
    assert.deepEqual(known(), { app_b: 2, app_c: 3 });
    assert.equal(fs.statSync(path.join(dir, 'traffic')).size, 512);
  });

  it('begins with a file that is cut off or damaged', () => {
    hear(one, report('app_a', 1), report('app_b', 2));
    stored.close();
    const file = path.join(dir, 'traffic');
    fs.truncateSync(file, 300);
    stored = new StoredTraffic(dir, noLog);
    assert.deepEqual(known(), { app_a: 1 });
    stored.close();
    fs.writeFileSync(file, Buffer.alloc(1024, 0xff));
    stored = new StoredTraffic(dir, noLog);
    assert.deepEqual(known(), {});
    hear({}, report('app_a', 1));
    assert.deepEqual(known(), { app_a: 1 });
  });

  it('believes an edge no numbers that are none, and no apps that nothing leads to', () => {
    const bad: unknown[] = [
      null,
      7,
      {},
      report('db_x', 1),
      report('app_../../x', 1),
      report(`app_${'x'.repeat(100)}`, 1),
      report('app_a', -1),
      report('app_a', NaN),
      report('app_a', Infinity),
      report('app_a', 1, { counts: [1] }),
      report('app_a', 1, { sockets: -1 }),
      { ...report('app_a', 1), counts: 'x'.repeat(trafficNumbers) },
      { ...report('app_a', 1), life: 'x' },
    ];
    hear(one, ...bad);
    assert.deepEqual(known(), {});
    assert.equal(trafficAt.classes, 0);
  });
});
